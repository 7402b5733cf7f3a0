from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from pilots.wafer import map_png
from pilots.wafer.map_png import View


def pixels(data: bytes) -> np.ndarray:
    image = Image.open(io.BytesIO(data))
    assert image.mode == "P"
    return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize(
    ("rows", "columns", "tiles"),
    [(928, 970, (116, 122)), (750, 994, (94, 125)), (1, 1, (1, 1)), (8, 9, (1, 2))],
)
def test_no_processing_element_is_dropped(rows: int, columns: int, tiles: tuple[int, int]) -> None:
    made = map_png.tiles(np.full((rows, columns), 40.0))
    assert made.pes.shape == tiles
    assert made.pes.sum() == rows * columns
    assert np.allclose(made.mean, 40)


def test_edge_tile_is_averaged_over_what_it_has() -> None:
    values = np.zeros((8, 10))
    values[:, 8:] = 90
    assert map_png.tiles(values).mean.tolist() == [[0, 90]]


def test_dead_elements_count_neither_in_mean_nor_in_maximum() -> None:
    values, dead = np.full((8, 8), 20.0), np.zeros((8, 8), dtype=bool)
    values[0, 0], dead[0, 0] = np.nan, True
    values[0, 1], dead[0, 1] = 100.0, True
    made = map_png.tiles(values, dead)
    assert made.mean[0, 0] == 20
    assert made.maximum[0, 0] == 20
    assert made.dead[0, 0] == 2


def test_tile_without_a_living_element_has_a_colour_outside_the_ramp() -> None:
    shown = pixels(map_png.heatmap_png(np.zeros((8, 8)), dead=np.ones((8, 8), dtype=bool)))
    colour = tuple(int(channel) for channel in shown[0, 0])
    assert colour not in map_png.ramp()
    assert "#{:02x}{:02x}{:02x}".format(*colour) == map_png.NOTHING_ALIVE


@pytest.mark.parametrize(("count", "index"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (64, 3)])
def test_dead_view_shows_four_classes(count: int, index: int) -> None:
    dead = (np.arange(64) < count).reshape(8, 8)
    shown = pixels(map_png.heatmap_png(np.zeros((8, 8)), dead=dead, view=View.DEAD))
    assert "#{:02x}{:02x}{:02x}".format(*shown[0, 0]) == map_png.DEAD_COLOURS[index]


def test_ramp_is_fixed_from_0_to_100_percent() -> None:
    shown = pixels(map_png.heatmap_png(np.array([[0.0] * 8 + [100.0] * 8])))
    assert [tuple(map(int, colour)) for colour in shown[0]] == [map_png.ramp()[0], map_png.ramp()[-1]]


def test_values_beyond_the_scale_are_counted() -> None:
    assert map_png.tiles(np.array([[-1.0, 0.0, 100.0, 100.1]])).clipped == 2


def test_equal_fabrics_give_equal_bytes() -> None:
    values = np.random.default_rng(3).uniform(0, 100, (40, 40))
    assert map_png.heatmap_png(values) == map_png.heatmap_png(values.copy())


def test_conspicuous_tiles_come_dead_first_with_their_place() -> None:
    values, dead = np.full((16, 16), 10.0), np.zeros((16, 16), dtype=bool)
    values[0, 12], dead[9, 1] = 99.0, True
    first, second = map_png.conspicuous(map_png.tiles(values, dead), 2)
    assert (first.column, first.row, first.dead) == (0, 8, 1)
    assert (second.column, second.row, second.maximum) == (8, 0, 99.0)


@pytest.mark.parametrize("values", [np.zeros(4), np.zeros((0, 4)), np.array([[np.nan]])])
def test_fabric_is_refused_when_it_is_no_grid_of_numbers(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected a"):
        map_png.tiles(values)


def test_dead_mask_is_refused_when_its_shape_differs() -> None:
    with pytest.raises(ValueError, match="dead PEs of shape"):
        map_png.tiles(np.zeros((2, 2)), np.zeros((2, 3)))
