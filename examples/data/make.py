# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "pillow==13.0.0", "scikit-learn==1.9.1"]
# ///
"""Makes the arrays of this folder: scikit-learn's data, and NumPy's answers to the three examples.

    uv run examples/data/make.py        or, with the packages above, python examples/data/make.py

Owns the choice of the data and of what is kept of an answer. It shares no code with the engine.
"""

from pathlib import Path

import numpy
from PIL import Image
from sklearn import datasets

HERE = Path(__file__).parent

# The usual statistics of photographs, per channel, of red, green and blue between 0 and 1.
MEAN = numpy.array([0.485, 0.456, 0.406], dtype=numpy.float32)
STD = numpy.array([0.229, 0.224, 0.225], dtype=numpy.float32)

# The digits whose distances to all others are kept.
ROWS = [0, 1, 898, 1796]


def save(name, array):
    numpy.save(HERE / f"{name}.npy", numpy.ascontiguousarray(array))
    print(f"{name}.npy  {array.dtype} {array.shape}")


def photo():
    """A photograph of half the size, and what each of the 256 values becomes in each channel.

    No pixel can be anything else, so 256 rows answer for every photograph.
    """
    image = Image.fromarray(datasets.load_sample_image("china.jpg")).reduce(2)
    save("photo", numpy.asarray(image))
    values = numpy.arange(256, dtype=numpy.float32)[:, None]
    save("photo_expected", (values / numpy.float32(255) - MEAN) / STD)


def wine():
    """The chemistry of 178 wines, and the same with mean 0 and standard deviation 1 by column."""
    table = datasets.load_wine().data
    save("wine", table)
    save("wine_expected", (table - table.mean(axis=0)) / table.std(axis=0, ddof=1))


def digits():
    """Handwritten digits and what they mean, and squared distances: four rows whole, all rows summed.

    Integers below 2**24, so that the answers are exact in float32 and float64 alike.
    """
    data = datasets.load_digits()
    images = data.data.astype(numpy.int32)
    save("digits", images.astype(numpy.uint8))
    save("digits_labels", data.target.astype(numpy.uint8))
    distances = numpy.stack([((image - images) ** 2).sum(axis=1) for image in images])
    save("digits_expected_rows", distances[ROWS].astype(numpy.float32))
    save("digits_expected_sums", distances.sum(axis=1).astype(numpy.float64))


if __name__ == "__main__":
    photo()
    wine()
    digits()
