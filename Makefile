.PHONY: test bench

test:
	./test

bench:
	bench/run
