//! The numbers that the paper prints, to compare with.

use sumout::internals::paper::Size;

/// A row of Table 1 or 3: the circuit for the posterior of one variable, given all pixels of an
/// image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// The network, by its name.
    pub model: &'static str,
    /// The network as it is: the ✗ row.
    pub classical: Size,
    /// The network with functional variables replicated: the ✓ row.
    pub functional: Size,
    /// The entries of all tensors of the circuit, transposed and rescaled ones included.
    pub entries: u64,
    /// How long the circuit takes for one example.
    pub eval_seconds: f64,
    /// How long it took to compile the circuit.
    pub compile_seconds: f64,
}

const fn size(nodes: usize, rank: usize, binary_rank: f64) -> Size {
    Size {
        nodes,
        rank,
        binary_rank,
    }
}

const fn image(
    model: &'static str,
    sizes: [Size; 2],
    entries: u64,
    eval_seconds: f64,
    compile_seconds: f64,
) -> Image {
    Image {
        model,
        classical: sizes[0],
        functional: sizes[1],
        entries,
        eval_seconds,
        compile_seconds,
    }
}

/// Rectangles.
pub const TABLE_1: [Image; 6] = [
    image(
        "rect:8",
        [size(85, 11, 15.0), size(197, 5, 13.0)],
        926_778,
        0.001,
        4.9,
    ),
    image(
        "rect:10",
        [size(125, 13, 17.6), size(305, 5, 14.3)],
        3_518_848,
        0.003,
        2.9,
    ),
    image(
        "rect:12",
        [size(173, 15, 20.2), size(437, 5, 15.3)],
        10_485_538,
        0.007,
        4.1,
    ),
    image(
        "rect:14",
        [size(229, 17, 22.6), size(593, 5, 16.2)],
        26_412_192,
        0.018,
        5.7,
    ),
    image(
        "rect:16",
        [size(293, 19, 25.0), size(773, 5, 17.0)],
        58_814_458,
        0.034,
        7.4,
    ),
    image(
        "rect:20",
        [size(445, 23, 29.6), size(1205, 5, 18.3)],
        224_211_138,
        0.140,
        14.1,
    ),
];

/// Digits.
pub const TABLE_3: [Image; 5] = [
    image(
        "digits:8",
        [size(638, 32, 33.3), size(1155, 9, 12.6)],
        264_357,
        0.008,
        9.3,
    ),
    image(
        "digits:10",
        [size(954, 59, 60.8), size(2173, 9, 14.1)],
        2_241_205,
        0.008,
        13.6,
    ),
    image(
        "digits:12",
        [size(1334, 81, 83.8), size(3469, 10, 16.7)],
        11_625_558,
        0.014,
        23.2,
    ),
    image(
        "digits:14",
        [size(1778, 116, 121.0), size(5007, 11, 18.4)],
        32_057_227,
        0.030,
        36.8,
    ),
    image(
        "digits:16",
        [size(2286, 134, 140.0), size(6825, 11, 19.3)],
        95_094_167,
        0.076,
        50.4,
    ),
];

/// The mean and the standard deviation of something over ten networks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stdev: f64,
}

/// The numbers of training examples of Tables 2 and 4.
pub const EXAMPLES: [usize; 6] = [25, 50, 100, 250, 500, 1000];

/// A row of Table 2 or 4: the accuracy, in per cent, of circuits that were trained with so many
/// examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The network, by its name.
    pub model: &'static str,
    /// Over 25 runs, for each number of examples.
    pub accuracies: [Mean; 6],
    /// The number of parameters.
    pub parameters: usize,
}

const fn accuracy(
    model: &'static str,
    means: [f64; 6],
    stdevs: [f64; 6],
    parameters: usize,
) -> Accuracy {
    let mut accuracies = [Mean {
        mean: 0.0,
        stdev: 0.0,
    }; 6];
    let mut i = 0;
    while i < 6 {
        accuracies[i] = Mean {
            mean: means[i],
            stdev: stdevs[i],
        };
        i += 1;
    }
    Accuracy {
        model,
        accuracies,
        parameters,
    }
}

/// Rectangles: functional CPTs fixed, and trainable.
#[allow(clippy::approx_constant)] // a standard deviation is 3.14
pub const TABLE_2: [Accuracy; 2] = [
    accuracy(
        "rect:10",
        [82.64, 89.16, 96.08, 97.92, 99.51, 98.39],
        [15.06, 11.98, 8.34, 5.56, 0.62, 7.00],
        136,
    ),
    accuracy(
        "rect:10,trainable",
        [53.29, 56.92, 62.20, 74.62, 84.94, 88.69],
        [1.89, 5.31, 6.95, 5.29, 3.14, 2.79],
        4428,
    ),
];

/// Digits: functional CPTs fixed, and trainable.
pub const TABLE_4: [Accuracy; 2] = [
    accuracy(
        "digits:10",
        [83.51, 89.17, 94.94, 97.68, 98.49, 98.44],
        [8.70, 6.02, 4.57, 1.45, 0.91, 0.27],
        275,
    ),
    accuracy(
        "digits:10,trainable",
        [9.82, 12.26, 13.28, 22.36, 29.51, 35.67],
        [0.77, 2.25, 3.32, 3.45, 2.40, 1.57],
        22797,
    ),
];

/// A row of Table 5: the binary rank of the largest cluster of random networks, whose variables
/// have 2 or 3 values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// The number of variables.
    pub nodes: usize,
    /// Every variable has at most this many parents.
    pub max_parents: usize,
    /// The share of functional variables, from 0 to 1.
    pub functional: f64,
    /// Without functions.
    pub original: Mean,
    /// With functions.
    pub shrunk: Mean,
    /// The difference.
    pub reduction: Mean,
}

const fn random(
    nodes: usize,
    max_parents: usize,
    functional: f64,
    means: [(f64, f64); 3],
) -> Random {
    const fn mean((mean, stdev): (f64, f64)) -> Mean {
        Mean { mean, stdev }
    }
    let [original, shrunk, reduction] = means;
    let (original, shrunk, reduction) = (mean(original), mean(shrunk), mean(reduction));
    Random {
        nodes,
        max_parents,
        functional,
        original,
        shrunk,
        reduction,
    }
}

/// Random networks.
pub const TABLE_5: [Random; 12] = [
    random(75, 4, 1.0 / 4.0, [(22.4, 2.8), (19.4, 3.1), (3.0, 1.7)]),
    random(75, 4, 1.0 / 2.0, [(22.5, 2.2), (16.9, 1.8), (5.6, 2.5)]),
    random(75, 4, 2.0 / 3.0, [(22.9, 3.9), (13.1, 2.3), (9.8, 3.4)]),
    random(75, 4, 4.0 / 5.0, [(21.9, 2.7), (11.1, 1.9), (10.8, 3.2)]),
    random(100, 5, 1.0 / 4.0, [(38.7, 4.5), (33.1, 4.6), (5.7, 2.0)]),
    random(100, 5, 1.0 / 2.0, [(38.1, 2.9), (23.7, 3.3), (14.4, 4.3)]),
    random(100, 5, 2.0 / 3.0, [(38.0, 3.2), (18.9, 3.1), (19.1, 3.9)]),
    random(100, 5, 4.0 / 5.0, [(36.8, 3.0), (13.5, 2.5), (23.3, 3.1)]),
    random(150, 6, 1.0 / 4.0, [(64.3, 5.4), (54.2, 4.4), (10.1, 4.2)]),
    random(150, 6, 1.0 / 2.0, [(64.9, 3.2), (41.9, 5.6), (23.0, 5.1)]),
    random(150, 6, 2.0 / 3.0, [(64.3, 6.0), (28.2, 4.2), (36.0, 4.7)]),
    random(150, 6, 4.0 / 5.0, [(66.4, 4.8), (21.3, 4.6), (45.1, 2.1)]),
];

/// A row of Table 6: a batch of examples, evaluated by circuits of random networks that have so
/// many entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The number of examples.
    pub batch: usize,
    /// The least and the most entries of a circuit, in millions.
    pub millions: (u32, u32),
    /// How many entries they have.
    pub entries: Mean,
    /// The base-2 logarithm of the entries of the largest tensor.
    pub binary_rank: Mean,
    /// Milliseconds of the tensor graph for an example and a million entries.
    pub milliseconds: Mean,
    /// How many times as long the scalar graph takes.
    pub scalar: Mean,
    /// How many times as long the scalar-batch graph takes.
    pub scalar_batch: Mean,
}

const fn evaluation(batch: usize, least: u32, means: [f64; 5], stdevs: [f64; 5]) -> Evaluation {
    const fn mean(means: [f64; 5], stdevs: [f64; 5], at: usize) -> Mean {
        Mean {
            mean: means[at],
            stdev: stdevs[at],
        }
    }
    Evaluation {
        batch,
        millions: (least, least + 5),
        entries: mean(means, stdevs, 0),
        binary_rank: mean(means, stdevs, 1),
        milliseconds: mean(means, stdevs, 2),
        scalar: mean(means, stdevs, 3),
        scalar_batch: mean(means, stdevs, 4),
    }
}

/// Tensor graphs against graphs of single numbers.
pub const TABLE_6: [Evaluation; 12] = [
    evaluation(
        1,
        5,
        [6_992_414.0, 19.7, 66.6, 11.5, 47.0],
        [1_830_909.0, 0.7, 20.6, 4.6, 20.3],
    ),
    evaluation(
        1,
        15,
        [17_979_799.0, 21.2, 34.3, 22.2, 82.1],
        [1_391_918.0, 0.5, 3.0, 7.1, 23.7],
    ),
    evaluation(
        1,
        25,
        [26_540_961.0, 21.6, 20.8, 38.4, 137.3],
        [1_154_660.0, 0.5, 4.6, 14.6, 56.1],
    ),
    evaluation(
        1,
        35,
        [37_058_914.0, 21.8, 16.0, 50.3, 177.2],
        [1_349_479.0, 0.4, 3.5, 32.1, 128.7],
    ),
    evaluation(
        10,
        5,
        [8_157_025.0, 20.0, 7.8, 112.3, 38.0],
        [1_599_408.0, 0.5, 2.3, 45.9, 24.8],
    ),
    evaluation(
        10,
        15,
        [17_504_179.0, 20.7, 4.6, 148.0, 54.2],
        [1_482_496.0, 0.5, 1.3, 64.9, 33.3],
    ),
    evaluation(
        10,
        25,
        [27_728_478.0, 21.7, 4.5, 209.7, 60.1],
        [2_029_237.0, 0.9, 1.3, 51.0, 17.0],
    ),
    evaluation(
        10,
        35,
        [37_850_485.0, 22.1, 4.0, 244.0, 70.0],
        [1_547_389.0, 0.6, 1.1, 95.4, 26.3],
    ),
    evaluation(
        20,
        5,
        [6_506_125.0, 19.6, 4.9, 135.3, 26.9],
        [860_631.0, 0.7, 1.9, 42.2, 11.1],
    ),
    evaluation(
        20,
        15,
        [17_766_240.0, 20.7, 3.1, 251.5, 39.9],
        [1_209_040.0, 0.5, 1.3, 123.7, 15.2],
    ),
    evaluation(
        20,
        25,
        [27_762_672.0, 21.7, 3.1, 271.9, 46.0],
        [1_148_761.0, 0.5, 1.1, 92.4, 17.7],
    ),
    evaluation(
        20,
        35,
        [37_620_063.0, 22.1, 3.0, 287.5, 44.3],
        [1_416_214.0, 0.3, 1.2, 118.9, 19.7],
    ),
];
