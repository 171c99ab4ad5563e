use zerostride_shape::assert_broadcast;

const SHAPE: [usize; 4] = assert_broadcast!([5, 1, 4, 1], [3, 1, 2]);

fn main() {
    assert_eq!(SHAPE, [5, 3, 4, 2]);
    assert_broadcast!([4, 3], [1, 3]);
    assert_broadcast!([], [0]);
}
