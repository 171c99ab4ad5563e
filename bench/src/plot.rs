//! Owns the two pictures of a record: the peers' times compared with zerostride's, and zerostride's bandwidth
//! compared with the memory's. It does not know how an SVG is written (`svg.rs`).

use crate::record::{Measurement, Record};
use crate::svg::{Axis, Form, Mark, Svg};
use crate::time::time;

/// Colours that are distinguishable in light and dark themes and for the colour-blind, each with its own
/// shape. Source: Okabe and Ito, "Color Universal Design".
const MARKS: [(&str, Form, &str); 8] = [
    ("NumPy", Form::Circle, "#0072b2"),
    ("numexpr", Form::Square, "#56b4e9"),
    ("JAX", Form::Diamond, "#e69f00"),
    ("torch", Form::Triangle, "#d55e00"),
    ("torch.compile", Form::Circle, "#cc79a7"),
    ("ndarray", Form::Square, "#7f7f7f"),
    ("candle", Form::Diamond, "#b3a100"),
    ("burn", Form::Triangle, "#9467bd"),
];

fn mark(peer: &str) -> Mark {
    let found = MARKS.iter().find(|(name, _, _)| *name == peer);
    let (form, colour) = found.map_or((Form::Circle, "#888888"), |&(_, form, colour)| (form, colour));
    Mark { form, colour, class: "" }
}

/// The panels: a size of the table and its heading.
const PANELS: [(&str, &str); 3] = [("L2", "in L2"), ("L3", "in L3"), ("RAM", "beyond the caches")];

/// The peers' times as multiples of zerostride's: a bar to the fastest, a mark for each.
pub(crate) fn ratios(record: &Record) -> String {
    let mut titles: Vec<(&str, &str)> = Vec::new();
    for measurement in record.measurements.iter().filter(|measurement| measurement.group == "main") {
        let row = (measurement.workload.as_str(), measurement.title.as_str());
        if !titles.contains(&row) {
            titles.push(row);
        }
    }
    let (left, top, step, gap) = (210.0, 112.0, 19.0, 40.0);
    let panels: Vec<_> = PANELS
        .into_iter()
        .filter(|(size, _)| titles.iter().any(|(workload, _)| record.find(workload, size).is_some()))
        .collect();
    let width = 300.0;
    let bottom = top + step * titles.len() as f64;
    let whole = left + (width + gap) * panels.len().max(1) as f64;
    let mut svg = Svg::new(whole, bottom + 62.0);
    svg.text(16.0, 28.0, "title", "start", "Time of each peer, in times of zerostride's");
    svg.text(
        16.0,
        48.0,
        "small",
        "start",
        &format!(
            "{}, {} threads, {}. Right of 1: zerostride is faster. The bar ends at the fastest peer.",
            record.machine.processor,
            record.threads(),
            record.date,
        ),
    );
    let mut x = 16.0;
    for (name, _) in record.peers.iter().filter(|(name, _)| MARKS.iter().any(|(own, _, _)| own == name)) {
        svg.mark((x + 5.0, 66.0), mark(name), name);
        svg.text(x + 14.0, 70.0, "", "start", name);
        x += 34.0 + 7.0 * name.len() as f64;
    }
    for (row, (_, title)) in titles.iter().enumerate() {
        svg.text(left - 12.0, top + step * (row as f64 + 0.5) + 4.0, "", "end", title);
    }
    for (panel, (size, heading)) in panels.iter().enumerate() {
        let start = left + (width + gap) * panel as f64;
        let axis = Axis { values: (0.2, 100.0), pixels: (start, start + width) };
        svg.text(start, top - 14.0, "head", "start", heading);
        for tick in axis.ticks(&[1.0, 2.0, 5.0]) {
            let class = if (tick - 1.0).abs() < 1e-9 { "one" } else { "grid" };
            svg.line((axis.at(tick), top), (axis.at(tick), bottom), class);
            svg.text(
                axis.at(tick),
                bottom + 16.0,
                "small",
                "middle",
                &format!("{}", (tick * 10.0).round() / 10.0),
            );
        }
        svg.text(start, bottom + 36.0, "small", "start", "times as long as zerostride, logarithmic");
        for (row, (workload, _)) in titles.iter().enumerate() {
            let found = record
                .find(workload, size)
                .or_else(|| record.find(workload, "call").filter(|_| *size == "L2"));
            if let Some(measurement) = found {
                row_of_ratios(&mut svg, axis, top + step * row as f64, step, measurement);
            }
        }
    }
    svg.finish("Time of each peer in times of zerostride's, for every workload")
}

fn row_of_ratios(svg: &mut Svg, axis: Axis, y: f64, step: f64, measurement: &Measurement) {
    let mode = measurement.mode();
    if let Some(ratio) = measurement.fastest(mode).and_then(|peer| measurement.ratio(peer)) {
        let (one, end) = (axis.at(1.0), axis.at(ratio));
        let class = if ratio >= 1.0 { "better" } else { "worse" };
        svg.rect((one.min(end), y + 4.0), ((end - one).abs().max(1.0), step - 8.0), class);
    }
    for peer in measurement.peers(mode) {
        if let Some(ratio) = measurement.ratio(peer) {
            let title = format!("{}: {}, {ratio:.2}x", peer.peer, time(peer.median));
            svg.mark((axis.at(ratio), y + step / 2.0), mark(&peer.peer), &title);
        }
    }
}

/// Achieved bandwidth against operations per byte, for results larger than the caches, with NT-STREAM.
pub(crate) fn roofline(record: &Record) -> String {
    let found: Vec<&Measurement> = record
        .measurements
        .iter()
        .filter(|measurement| {
            measurement.size == "RAM" && measurement.dtype == "f32" && measurement.threads == record.threads()
        })
        .filter(|measurement| measurement.ours().is_some())
        .collect();
    let (left, right, top, bottom) = (70.0, 690.0, 84.0, 510.0);
    let mut svg = Svg::new(960.0, 570.0f64.max(top + 17.0 * found.len() as f64 + 20.0));
    svg.text(16.0, 28.0, "title", "start", "How near each workload comes to what the memory gives");
    svg.text(16.0, 48.0, "small", "start", &format!(
        "{}, {} threads, {}. Bytes of operands and result, read and written once; operands beyond the caches.",
        record.machine.processor, record.threads(), record.date,
    ));
    let speed = |measurement: &Measurement, seconds: f64| measurement.traffic as f64 / seconds / 1e9;
    let intensity = |measurement: &Measurement| measurement.operations / measurement.traffic as f64;
    let x = Axis { values: (0.02, 200.0), pixels: (left, right) };
    let y = Axis { values: (0.5, 200.0), pixels: (bottom, top) };
    for tick in x.ticks(&[1.0]).into_iter().chain([0.02, 0.2, 2.0, 20.0, 200.0, 0.05, 0.5, 5.0, 50.0]) {
        svg.line((x.at(tick), top), (x.at(tick), bottom), "grid");
        svg.text(
            x.at(tick),
            bottom + 16.0,
            "small",
            "middle",
            &format!("{}", (tick * 100.0).round() / 100.0),
        );
    }
    for tick in y.ticks(&[1.0, 2.0, 5.0]) {
        svg.line((left, y.at(tick)), (right, y.at(tick)), "grid");
        svg.text(left - 8.0, y.at(tick) + 4.0, "small", "end", &format!("{}", (tick * 10.0).round() / 10.0));
    }
    svg.text((left + right) / 2.0, bottom + 36.0, "small", "middle", "operations of the op table per byte");
    svg.text(16.0, top - 12.0, "small", "start", "GB/s");
    let mut limits: Vec<f64> =
        found.iter().filter_map(|measurement| Some(speed(measurement, measurement.limit()?))).collect();
    limits.sort_by(f64::total_cmp);
    if let (Some(&low), Some(&median), Some(&high)) =
        (limits.first(), limits.get(limits.len() / 2), limits.last())
    {
        svg.line((left, y.at(median)), (right, y.at(median)), "limit");
        svg.text(
            right,
            y.at(median) - 7.0,
            "small",
            "end",
            &format!("NT-STREAM {median:.0} GB/s ({low:.0} to {high:.0})"),
        );
    }
    svg.text(right + 24.0, top - 12.0, "head", "start", "GB/s, part of NT-STREAM");
    let place = |measurement: &Measurement, seconds: f64| {
        (x.at(intensity(measurement)), y.at(speed(measurement, seconds)))
    };
    let places: Vec<_> = found.iter().filter_map(|&found| Some(place(found, found.ours()?.median))).collect();
    let heights = label_heights(&places);
    for (index, (measurement, (&own, height))) in found.iter().zip(places.iter().zip(heights)).enumerate() {
        let number = format!("{}", index + 1);
        let Some(ours) = measurement.ours() else { continue };
        if let Some(peer) = measurement.fastest(measurement.mode()) {
            let theirs = place(measurement, peer.median);
            svg.line(own, theirs, "link");
            svg.mark(theirs, mark(&peer.peer), &format!("{}: {}", measurement.title, peer.peer));
        }
        svg.mark(own, Mark { form: Form::Circle, colour: "#1f883d", class: "better" }, &measurement.title);
        // At the right end the label is on the left, where there are no other labels.
        let (side, anchor) = if own.0 + 40.0 > right { (-1.0, "end") } else { (1.0, "start") };
        svg.line(own, (own.0 + side * 13.0, height), "grid");
        svg.text(own.0 + side * 14.0, height + 4.0, "small", anchor, &number);
        let of_limit = measurement
            .limit()
            .map_or_else(String::new, |limit| format!(", {:.0}%", 100.0 * limit / ours.median));
        svg.text(
            right + 24.0,
            top + 8.0 + 17.0 * index as f64,
            "small",
            "start",
            &format!("{number}  {}: {:.1}{of_limit}", measurement.title, speed(measurement, ours.median),),
        );
    }
    svg.text(
        left,
        bottom + 56.0,
        "small",
        "start",
        "Green: zerostride. Other marks: the fastest peer, in the colours of the first picture.",
    );
    svg.finish("Bandwidth of each workload against operations per byte, beside NT-STREAM")
}

/// The heights of labels, which are right of their points and moved down until they do not overlap those
/// above.
fn label_heights(places: &[(f64, f64)]) -> Vec<f64> {
    const WIDTH: f64 = 16.0;
    const HEIGHT: f64 = 11.0;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].1.total_cmp(&places[b].1));
    let mut heights = vec![f64::NAN; places.len()];
    for &index in &order {
        let (x, mut height) = places[index];
        for &above in order.iter().take_while(|&&above| above != index) {
            let is_near = (places[above].0 - x).abs() < WIDTH && (heights[above] - height).abs() < HEIGHT;
            height = if is_near { heights[above] + HEIGHT } else { height };
        }
        heights[index] = height;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::label_heights;

    #[test]
    fn labels_of_near_points_stand_clear_of_each_other() {
        let heights = label_heights(&[(10.0, 50.0), (12.0, 51.0), (12.0, 52.0), (90.0, 50.0)]);
        assert_eq!(heights, [50.0, 61.0, 72.0, 50.0]);
    }
}
