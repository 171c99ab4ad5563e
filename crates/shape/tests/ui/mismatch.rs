use zerostride_shape::assert_broadcast;

fn main() {
    assert_broadcast!([5, 2, 4, 1], [3, 1, 1]);
}
