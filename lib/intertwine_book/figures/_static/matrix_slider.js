// The figure of matrix_slider.py: a matrix of shares at the position of the slider.
function matrix_slider(root, { at, cells, best, shares, colour }) {
  const slider = root.querySelector("input"), svg = root.querySelector("svg"), side = 200 / cells[0].length;
  const square = (row, column, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const place = { x: column * side + 1, y: row * side + 1, width: side - 2, height: side - 2 };
    for (const [key, value] of Object.entries({ ...place, ...attributes })) made.setAttribute(key, value);
    return svg.appendChild(made);
  };
  const grid = cells[0].map((line, row) => line.map((_, column) => {
    square(row, column, { fill: "currentColor", opacity: 0.06 });
    return square(row, column, { fill: colour });
  }));
  best.forEach(([row, column]) => square(row, column, { fill: "none", stroke: "currentColor", "stroke-width": 1.5 }));
  const draw = () => {
    const position = +slider.value;
    root.querySelector("label span").textContent = at[position];
    grid.forEach((line, row) => line.forEach((cell, column) => {
      cell.setAttribute("opacity", cells[position][row][column]);
    }));
    root.querySelector("output").textContent = `${shares[position]} % of the weight on the best permutation`;
  };
  slider.addEventListener("input", draw);
  draw();
}
