"""Imports and exports of `sumout explore`: files, links, lines for the shell and for Python, CSV and SVG."""

import ast
import json
import re
import subprocess

import pytest

from explorer import drop, load, row, same, settled, shown


def test_a_broken_file_shows_what_the_command_line_says(browser_page, watched, explore, sumout, screenshot, tmp_path):
    page = browser_page
    watched.allow(r"422 \(Unprocessable")
    load(page, explore("asia"))
    broken = "network x { }\nvariable a { type discrete [ 2 ] { t, f }; }\nprobability ( a ) { table 5, 6; }\n"
    (tmp_path / "broken.bif").write_text(broken)
    said = subprocess.run([sumout, "show", "broken.bif"], cwd=tmp_path, capture_output=True, text=True).stderr.strip()
    drop(page, "broken.bif", broken)
    page.wait_for_selector("#diagnostic:not([hidden])")
    assert "broken.bif:3" in said and page.locator("#diagnostic").text_content().strip() == said
    screenshot(page, "broken")
    assert page.locator("#open-remedies button").all_inner_texts() == ["Rescale rows"]
    page.keyboard.press("Escape")
    assert page.inner_text("#model-name") == "asia" and shown(page)


def test_rows_are_rescaled_at_the_press_of_a_button(browser_page, watched, explore, cli, tmp_path):
    page = browser_page
    watched.allow(r"422 \(Unprocessable")
    load(page, explore("asia"))
    text = "network x { }\nvariable a { type discrete [ 2 ] { t, f }; }\nprobability ( a ) { table 5, 6; }\n"
    (tmp_path / "x.bif").write_text(text)
    drop(page, "x.bif", text)
    page.get_by_role("button", name="Rescale rows").click()
    page.wait_for_selector("[data-variable=a][data-p]")
    same(shown(page), cli("query", str(tmp_path / "x.bif"), "--normalize")["posteriors"])
    page.get_by_role("button", name="Share").click()
    assert page.inner_text("#share-command") == "sumout query x.bif --normalize"


def test_a_file_that_is_dropped_is_opened(browser_page, explore, cli, tmp_path):
    page = browser_page
    load(page, explore("asia"))
    text = "network rain { }\nvariable r { type discrete [ 2 ] { t, f }; }\nvariable w { type discrete [ 2 ] { t, f }; }\n"
    text += "probability ( r ) { table 0.2, 0.8; }\nprobability ( w | r ) { (t) 0.9, 0.1; (f) 0.3, 0.7; }\n"
    (tmp_path / "rain.bif").write_text(text)
    drop(page, "rain.bif", text)
    page.wait_for_selector("[data-variable=r][data-p]")
    row(page, "w", "t").click()
    settled(page, "r", "t", "42.9 %")
    same(shown(page), cli("query", str(tmp_path / "rain.bif"), "--given", "w=t")["posteriors"])
    page.reload()
    settled(page, "r", "t", "42.9 %")


def test_a_reload_and_a_link_restore_the_state(browser_page, watched, explore, screenshot):
    page = browser_page
    load(page, explore("asia"))
    row(page, "xray", "yes").click()
    settled(page, "lung", "yes", "48.9 %")
    row(page, "smoke", "no").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#chips .soft")
    page.wait_for_timeout(200)
    before, chips = shown(page), page.inner_text("#chips")
    page.reload()
    page.wait_for_selector("#list .row[data-p]")
    same(shown(page), before)
    assert page.inner_text("#chips") == chips
    other = watched.page()
    load(other, page.url)
    same(shown(other), before)
    page.goto(page.url.split("#")[0] + "#model=asia&g.xray=yes&g.nobody=yes&g.dysp=maybe&s.smoke=1&at=lung")
    settled(page, "lung", "yes", "48.9 %")
    assert "3 findings of the link" in page.inner_text("#toast")


def test_what_is_shared_gives_the_same_answer(browser_page, explore, cli, sumout):
    page = browser_page
    load(page, explore("rect:8"))
    page.keyboard.press("4")
    page.get_by_role("button", name="Set the rest to off").click()
    page.wait_for_function("() => document.querySelectorAll('#pad .ink.known').length === 64")
    row(page, "label", "wide").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#chips .soft")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Share").click()
    line = page.inner_text("#share-command")
    assert line.startswith("sumout query rect:8 --given 'pixel_*=f' --soft label=")
    done = subprocess.run(line.replace("sumout", sumout, 1) + " --json", shell=True, capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout)["posteriors"]
    ours = shown(page)
    same(ours, {name: theirs[name] for name in ours})
    with page.expect_download() as download:
        page.get_by_role("button", name="Posteriors as CSV").click()
    rows = [line.split(",") for line in open(download.value.path()).read().splitlines()]
    assert rows[0] == ["variable", "value", "probability", "evidence"] and len(rows) == 1 + sum(map(len, theirs.values()))
    assert all(float(p) == pytest.approx(theirs[name][value], abs=1e-12) for name, value, p, _ in rows[1:])
    with page.expect_download() as download:
        page.get_by_role("button", name="Network as SVG").click()
    svg = open(download.value.path()).read()
    assert svg.startswith("<svg") and "pixel_*" in svg and "class" in svg
    picture = page.context.new_page()
    picture.goto(f"file://{download.value.path()}")


STRANGE = {
    "asia": "a[0]", "tub": "a*", "smoke": "-x", "lung": "e=f", "bronc": "it's \"q\"", "either": "ünï cödé", "xray": "$HOME `id`", "dysp": "back\\slash",
    "yes": "y=1, 'x'", "no": "-n",
}  # fmt: skip


def renamed(part):
    """A network with other names."""
    if isinstance(part, str):
        return STRANGE.get(part, part)
    if isinstance(part, dict):
        return {key: renamed(value) for key, value in part.items()}
    return [renamed(item) for item in part] if isinstance(part, list) else part


def test_lines_for_the_shell_and_for_python_work_with_any_names(browser_page, explore, sumout, python, tmp_path):
    page = browser_page
    subprocess.run([sumout, "convert", "asia", str(tmp_path / "asia.json")], check=True, capture_output=True)
    content = json.dumps(renamed(json.loads((tmp_path / "asia.json").read_text())))
    (tmp_path / "-my model.json").write_text(content)
    load(page, explore("asia"))
    drop(page, "-my model.json", content)
    page.wait_for_selector("#list [data-name='a[0]'] .row[data-p]")
    for name in ("smoke", "lung", "xray"):
        page.locator("#list .card", has=page.locator(f"[data-variable={json.dumps(STRANGE[name])}]")).locator(".row").nth(1).click()
    page.locator("#list .card").nth(4).locator(".row").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#chips .soft")
    page.wait_for_function("() => !document.querySelector('#status-text').textContent && location.hash.includes('s.it')")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Share").click()
    line = page.inner_text("#share-command").replace("sumout", sumout, 1) + " --json"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, (line, done.stderr)
    same(shown(page), json.loads(done.stdout)["posteriors"])
    done = subprocess.run([python, "-c", page.inner_text("#share-python")], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    same(shown(page), ast.literal_eval(done.stdout))


@pytest.mark.parametrize("words", ["given=x&soft=1&plan=5", 'plan={"given":5,"level":7}&view=network', "view=__proto__&at=toString&toString=1&g.x"])
def test_a_link_that_makes_no_sense_does_no_harm(browser_page, explore, words):
    page = browser_page
    load(page, f"{explore('asia')}#model=asia&{words}")
    assert page.inner_text("#model-name") == "asia" and len(shown(page)) == 8


def test_a_file_that_is_too_large_is_not_sent(browser_page, explore, screenshot):
    page = browser_page
    load(page, explore("asia"))
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.evaluate("""() => {
      const t = new DataTransfer();
      t.items.add(new File([new Uint8Array(33 * 2 ** 20)], 'large.bif'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: t, bubbles: true, cancelable: true }));
    }""")
    page.wait_for_selector("#diagnostic:not([hidden])")
    assert "large.bif has 33 MiB; at most 32 MiB" in page.inner_text("#diagnostic") and sent == []


def test_a_picture_of_the_network_has_all_edges_also_those_out_of_sight(browser_page, explore):
    page = browser_page
    load(page, explore("models/alarm.bif.gz", "--effort", "0.1"))

    def edges():
        page.get_by_role("button", name="Share").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Network as SVG").click()
        page.keyboard.press("Escape")
        return re.search(r'class="edge" d="([^"]*)"', open(download.value.path()).read()).group(1).count("M")

    every = edges()
    for _ in range(8):
        page.get_by_role("button", name="Zoom in").first.click()
    page.wait_for_function("() => document.querySelector('#graph .edge').getAttribute('d').split('M').length < 40")
    assert every == edges() == 46


def test_a_picture_of_the_network_has_its_names_also_from_afar(watched, explore):
    page = watched.page(viewport={"width": 420, "height": 800})
    load(page, explore("models/alarm.bif.gz", "--effort", "0.1"))
    assert page.locator("#graph.mid").count() == 1
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Network as SVG").click()
    names = re.findall(r'<text class="name"[^>]*>', open(download.value.path()).read())
    assert len(names) == 37 and not [name for name in names if 'display="none"' in name]
    page.keyboard.press("Escape")
    page.wait_for_selector("#graph.mid")
