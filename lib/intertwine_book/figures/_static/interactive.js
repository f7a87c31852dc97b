// A plotly figure, drawn when it is nearly seen: without a graphics card three dimensions take seconds.
function interactive(box, { data, layout }) {
  const draw = () => box.data || Plotly.newPlot(box, data, layout, { displaylogo: false, responsive: true });
  const watch = new IntersectionObserver(([seen]) => seen.isIntersecting && draw(), { rootMargin: "500px" });
  addEventListener("load", () => watch.observe(box));
  addEventListener("beforeprint", draw);
}
