// The linear algebra that instruments need, for matrices of some hundred rows. A matrix is {r, c, d}: r rows
// and c columns, with entry (i, j) at d[i * c + j].
const Algebra = (() => {
  const matrix = (r, c, d = new Float64Array(r * c)) => ({ r, c, d });

  function diagonal(values) {
    const n = values.length, D = matrix(n, n);
    values.forEach((value, i) => { D.d[i * n + i] = value; });
    return D;
  }

  const each = (M, change) => ({ ...M, d: M.d.map(change) });  // of a tensor of the engine, too
  const eye = (n) => diagonal(Array(n).fill(1));

  function times(A, B) {
    const C = matrix(A.r, B.c);
    for (let i = 0; i < A.r; i++) for (let k = 0; k < A.c; k++) {
      const a = A.d[i * A.c + k];
      if (a !== 0) for (let j = 0; j < B.c; j++) C.d[i * B.c + j] += a * B.d[k * B.c + j];
    }
    return C;
  }

  // X Yᵀ for long rows, two by two, as each number read is then used twice; with X = Y half of the products
  // are enough. Beyond the last row the last is taken again.
  function inner(X, Y) {
    const P = matrix(X.r, Y.r), n = X.c, x = X.d, y = Y.d, same = X === Y;
    const put = (i, j, value) => { P.d[i * Y.r + j] = value; if (same) P.d[j * Y.r + i] = value; };
    for (let i = 0; i < X.r; i += 2) for (let j = same ? i : 0; j < Y.r; j += 2) {
      const i1 = Math.min(i + 1, X.r - 1), j1 = Math.min(j + 1, Y.r - 1);
      const a0 = i * n, a1 = i1 * n, b0 = j * n, b1 = j1 * n;
      let p = 0, q = 0, r = 0, s = 0;
      for (let k = 0; k < n; k++) {
        const u0 = x[a0 + k], u1 = x[a1 + k], v0 = y[b0 + k], v1 = y[b1 + k];
        p += u0 * v0;
        q += u0 * v1;
        r += u1 * v0;
        s += u1 * v1;
      }
      put(i, j, p);
      put(i, j1, q);
      put(i1, j, r);
      put(i1, j1, s);
    }
    return P;
  }

  function transposed(A) {
    const B = matrix(A.c, A.r);
    for (let i = 0; i < A.r; i++) for (let j = 0; j < A.c; j++) B.d[j * A.r + i] = A.d[i * A.c + j];
    return B;
  }

  const squares = ({ d }) => d.reduce((sum, value) => sum + value * value, 0);  // ‖A‖²

  // Of a symmetric matrix: eigenvalues, the largest first, and eigenvectors as rows, by Jacobi's rotations,
  // each of which makes one entry beside the diagonal 0.
  function eigen(S) {
    const n = S.r, A = S.d.slice(), V = eye(n).d, all = squares(S);
    const turn = (M, a, b, step, c, s) => {
      for (let k = 0; k < n; k++, a += step, b += step) {
        const x = M[a], y = M[b];
        M[a] = c * x - s * y;
        M[b] = s * x + c * y;
      }
    };
    for (let sweep = 0, beside = Infinity; sweep < 20 && beside > 1e-24 * all; sweep++) {
      beside = 0;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
        const entry = A[p * n + q];
        beside += entry * entry;
        if (entry * entry <= 1e-32 * all / n) continue;
        const z = (A[q * n + q] - A[p * n + p]) / (2 * entry);
        const t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.hypot(z, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
        turn(A, p, q, n, c, s);
        turn(A, p * n, q * n, 1, c, s);
        turn(V, p * n, q * n, 1, c, s);
      }
    }
    const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => A[j * n + j] - A[i * n + i]);
    const vectors = matrix(n, n);
    order.forEach((from, to) => vectors.d.set(V.subarray(from * n, from * n + n), to * n));
    return { values: order.map((i) => A[i * n + i]), vectors };
  }

  // The X of least norm with S X = Y, for a positive semidefinite S, whose channels are scaled to a deviation
  // of 1 first. As in the library, directions with less than 1e-12 of the largest variance are rounding, and
  // get 0.
  function solve(S, Y) {
    const variances = Array.from({ length: S.r }, (_, i) => S.d[i * S.r + i]);
    const unit = diagonal(variances.map((v) => (v > 0 ? 1 / Math.sqrt(v) : 0)));
    const { values, vectors } = eigen(times(times(unit, S), unit)), root = times(vectors, unit);
    const inverse = diagonal(values.map((value) => (value > 1e-12 * values[0] ? 1 / value : 0)));
    return times(transposed(root), times(inverse, times(root, Y)));
  }

  // The B for which B X is as near to Y as possible, and the share of ‖Y‖² that it leaves.
  function leastSquares(X, Y) {
    const B = transposed(solve(inner(X, X), inner(X, Y))), made = times(B, X);
    return { B, made, left: squares(each(Y, (value, k) => value - made.d[k])) / (squares(Y) || 1) };
  }

  const singular = (A) => eigen(times(A, transposed(A))).values.map((value) => Math.sqrt(Math.max(value, 0)));

  // The column of each row with the least sum of costs, by the Hungarian method: rows enter one after
  // another, each by the shortest path to a column that is free, in costs reduced by the potentials u and v.
  // Column 0 is a helper.
  function assignment(cost) {
    const n = cost.r, u = new Float64Array(n + 1), v = new Float64Array(n + 1);
    const owner = new Int32Array(n + 1), before = new Int32Array(n + 1);
    for (let row = 1; row <= n; row++) {
      const least = new Float64Array(n + 1).fill(Infinity), done = new Uint8Array(n + 1);
      let column = 0;
      owner[0] = row;
      while (owner[column] !== 0) {
        const from = owner[column];
        let step = Infinity, nearest = 0;
        done[column] = 1;
        for (let j = 1; j <= n; j++) if (!done[j]) {
          const reduced = cost.d[(from - 1) * n + j - 1] - u[from] - v[j];
          if (reduced < least[j]) { least[j] = reduced; before[j] = column; }
          if (least[j] < step) { step = least[j]; nearest = j; }
        }
        for (let j = 0; j <= n; j++) {
          if (done[j]) { u[owner[j]] += step; v[j] -= step; } else least[j] -= step;
        }
        column = nearest;
      }
      for (; column; column = before[column]) owner[column] = owner[before[column]];
    }
    const columns = new Int32Array(n);
    for (let j = 1; j <= n; j++) columns[owner[j] - 1] = j - 1;
    return columns;
  }

  function random(seed) {  // mulberry32: numbers in [0, 1), the same in every browser
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  const normal = (draw) => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());

  // The turn by angles[k] in the plane of the rows 2k and 2k + 1 of an orthogonal matrix.
  function turned(V, angles) {
    const D = eye(V.r);
    angles.forEach((angle, k) => {
      const at = 2 * k * (V.r + 1);
      D.d[at] = D.d[at + V.r + 1] = Math.cos(angle);
      D.d[at + V.r] = Math.sin(angle);
      D.d[at + 1] = -Math.sin(angle);
    });
    return times(transposed(V), times(D, V));
  }

  // A path of rotations of n dimensions, from the identity at t = 0: angles up to 180°·t, spread evenly, in
  // random planes that are orthogonal to each other: those of eigenvectors of a random matrix.
  function rotation(n, seed) {
    const draw = random(seed), X = matrix(n, n, Float64Array.from({ length: n * n }, () => normal(draw)));
    const planes = n >> 1, angles = Array.from({ length: planes }, (_, k) => Math.PI * (k + draw()) / planes);
    const { vectors } = eigen(inner(X, X));
    return (t) => turned(vectors, angles.map((angle) => t * angle));
  }

  return { matrix, diagonal, each, eye, times, inner, transposed, squares, solve, leastSquares, eigen,
    singular, assignment, random, normal, turned, rotation };
})();
