// A plotly figure, drawn when it is nearly seen: without a graphics card three dimensions take seconds.
function interactive(box, { data, layout }) {
  const eye = layout.scene?.camera?.eye ?? {};
  const back = box.clientWidth < 500 ? 1.35 : 1; // on a telephone the sides of the body would be cut
  for (const axis in eye) eye[axis] *= back;
  const draw = () => box.data || Plotly.newPlot(box, data, layout, { displaylogo: false, responsive: true });
  const watch = new IntersectionObserver(([seen]) => seen.isIntersecting && draw(), { rootMargin: "500px" });
  addEventListener("load", () => watch.observe(box));
  addEventListener("beforeprint", draw);
}
