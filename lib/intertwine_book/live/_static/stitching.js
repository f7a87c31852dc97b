// Two networks, joined: from a state of the bench to a map, what the joined network answers, and what
// measures of similarity say. The methods are those of the library; tests compare both on the same digits.
//
// A state is {front, layer, before, turn, map, hand, rank, stretch, norm}. What only depends on where the cut
// is is kept, so that a step of a slider costs matrices of channels and one pass through the back.
function Stitching({ networks, digits, fit, hidden }) {
  const A = Algebra, images = Engine.images(digits), judged = images.n - fit;
  const front = Engine.network(networks.front), back = Engine.network(networks.back);
  const activations = back.flatMap((layer, k) => (layer.kind === "activation" ? [k] : []));
  const untrained = Engine.untrained(back, A.random(2));
  const kept = new Map();

  function once(key, make) {
    if (!kept.has(key)) {
      if (kept.size > 60) kept.clear();
      kept.set(key, make());
    }
    return kept.get(key);
  }
  const place = ({ layer, before }) => `${layer} ${before}`;
  const origin = (state) => `${state.front} ${place(state)}`;
  const cut = ({ layer, before }) => activations[layer - 1] + (before ? 0 : 1);

  // Fronts: the activations of all digits at the cut.
  const theirs = (state) => once(`back ${place(state)}`, () => Engine.run(back, images, { to: cut(state) }));

  function hiddenElement(n) {  // of the group of ReLU: from which channel each comes, and its unit
    const M = A.matrix(n, n);
    hidden[n].forEach(([from, unit], to) => { M.d[to * n + from] = unit; });
    return M;
  }

  function noise(like, before) {  // one map of random numbers a class, and as much noise for each digit
    const draw = A.random(5), normal = () => A.normal(draw), rows = like.d.length / like.n;
    const centres = Array.from({ length: 10 }, () => Float64Array.from({ length: rows }, normal));
    const x = A.each(like, (_, k) => centres[digits.labels[k % like.n]][Math.floor(k / like.n)] + normal());
    return before ? x : Engine.activate(x, "relu");
  }

  const FRONTS = {
    twin: (state) => Engine.run(front, images, { to: cut(state) }),
    itself: theirs,
    moved: (state) => Engine.mix(hiddenElement(theirs(state).c), theirs(state)),
    untrained: (state) => Engine.run(untrained, images, { to: cut(state) }),
    noise: (state) => noise(theirs(state), state.before),
  };
  const features = (state) => once(`features ${origin(state)}`, () => FRONTS[state.front](state));
  const toJudge = (state) => once(`judged ${origin(state)}`, () =>
    Engine.samples(features(state), fit, images.n));

  // Statistics: means of channels and their products, summed over digits and positions.
  const rowSums = (X) => A.times(X, A.matrix(X.c, 1, new Float64Array(X.c).fill(1))).d;
  const ofBack = (Y) => ({ Y, count: Y.c, b: rowSums(Y), BB: A.inner(Y, Y) });
  const sums = (X, back) => ({ ...back, a: rowSums(X), AA: A.inner(X, X), AB: A.inner(X, back.Y) });
  const both = (R, P) => A.times(A.times(R, P), A.transposed(R));  // the products of R x, from those of x

  function transformed({ a, AA, AB, ...known }, R) {  // of the channels R x instead of x
    return { ...known, a: A.times(R, A.matrix(a.length, 1, a)).d, AA: both(R, AA), AB: A.times(R, AB) };
  }

  function centred({ count, a, b, AA, AB, BB }) {
    const less = (P, u, v) => A.each(P, (value, k) => value - u[Math.floor(k / P.c)] * v[k % P.c] / count);
    return { AA: less(AA, a, a), AB: less(AB, a, b), BB: less(BB, b, b) };
  }

  const diagonal = (P) => Float64Array.from({ length: P.r }, (_, i) => P.d[i * P.r + i]);
  const trace = (P) => diagonal(P).reduce((sum, v) => sum + v, 0);
  const norms = (P) => diagonal(P).map(Math.sqrt);
  const fitted = (state) => once(`fit ${origin(state)}`, () => {
    const known = once(`known ${place(state)}`, () => ofBack(Engine.channels(theirs(state), fit)));
    return sums(Engine.channels(features(state), fit), known);
  });

  const path = (n) => once(`path ${n}`, () => A.rotation(n, 3));
  const turning = (state) => path(theirs(state).c)(state.turn);
  const turned = (state) => (state.turn ? transformed(fitted(state), turning(state)) : fitted(state));

  function cosines({ AA, AB, BB }) {  // of channels of the back (rows) and of the front
    const a = norms(AA), b = norms(BB), n = a.length;
    return A.each(A.transposed(AB), (value, k) => {
      const size = a[k % n] * b[Math.floor(k / n)];
      return size ? value / size : 0;
    });
  }

  // inputs[j] is the channel of the front that channel j of the back gets
  function permutation(S, inputs, scaled) {
    const a = norms(S.AA), b = norms(S.BB), n = a.length, W = A.matrix(n, n);
    inputs.forEach((i, j) => { W.d[j * n + i] = scaled && a[i] > 0 && b[j] > 0 ? b[j] / a[i] : 1; });
    return W;
  }

  function leastSquares(S, { rank, stretch }) {
    const { AA, AB, BB } = centred(S), n = AA.r;
    let W = A.transposed(A.solve(AA, AB));
    if (rank < n) {  // the directions in which the fit varies most
      const V = A.matrix(rank, n, A.eigen(A.times(W, AB)).vectors.d.slice(0, rank * n));
      W = A.times(A.transposed(V), A.times(V, W));
    }
    if (stretch) {
      const varies = norms(both(W, AA)), wanted = norms(BB);
      W = A.times(A.diagonal([...varies].map((v, j) => (v > 0 ? (wanted[j] / v) ** stretch : 1))), W);
    }
    return W;
  }

  // The map, which follows the rotation, and its constant, which puts means where the back expects them.
  function map(state) {
    const S = turned(state), n = S.a.length;
    if (state.map === "least squares") {
      const W = leastSquares(S, state), mean = A.times(W, A.matrix(n, 1, S.a)).d;
      return { W, bias: mean.map((v, j) => (S.b[j] - v) / S.count) };
    }
    const bias = new Float64Array(n);
    if (state.map === "none") return { W: A.eye(n), bias };
    const gain = state.map === "permutation" ? A.transposed(S.AB) : cosines(S);  // by size, or by shape alone
    const inputs = state.map === "by hand" ? state.hand : A.assignment(A.each(gain, (v) => -v));
    return { W: permutation(S, inputs, state.map !== "permutation"), bias };
  }

  // With batch norm re-estimated the digits of the fit pass, too: the back's statistics are theirs.
  function stitched(state) {
    const { W, bias } = map(state), M = state.turn ? A.times(W, turning(state)) : W;
    const skipped = state.norm === "re-estimated" ? fit : 0, x = skipped ? features(state) : toJudge(state);
    const moved = Engine.mix(M, x, bias);
    const logits = Engine.run(back, moved, { from: cut(state), fit: skipped });
    const answers = Engine.answers(logits).slice(skipped);
    const accuracy = Engine.accuracy(answers, digits.labels.slice(fit));
    return { W, bias, answers, accuracy, moved: Engine.samples(moved, skipped, moved.n) };
  }

  function procrustes({ AA, AB, BB }) {  // as in the chapter on dissimilarity: features that are not centred
    const similarity = (cosine) => 1 - Math.sqrt(Math.max(0, 2 - 2 * cosine)) / 2;
    const C = cosines({ AA, AB, BB }), active = (P) => diagonal(P).filter((v) => v > 0).length;
    const sum = A.assignment(A.each(C, (v) => -v)).reduce((total, i, j) => total + C.d[j * C.c + i], 0);
    return {
      orthogonal: similarity(A.singular(AB).reduce((p, q) => p + q) / Math.sqrt(trace(AA) * trace(BB))),
      group: similarity(sum / Math.sqrt(active(AA) * active(BB))),  // a silent channel has cosines 0
    };
  }

  function gram(x) {  // which digits are alike: products over channels and positions, with means taken away
    const n = x.n, X = A.transposed(A.matrix(x.d.length / n, n, x.d)), K = A.inner(X, X);
    const means = rowSums(K).map((sum) => sum / n), all = means.reduce((p, q) => p + q) / n;
    return A.each(K, (value, k) => value - means[Math.floor(k / n)] - means[k % n] + all);
  }

  // Of what reaches the back and what the back had while it was trained, on the digits that are judged.
  function measures(state, { moved }) {
    const known = once(`known judged ${place(state)}`, () => {
      const x = toJudge({ ...state, front: "itself" });
      return { ...ofBack(Engine.channels(x, judged)), L: gram(x) };
    });
    const S = sums(Engine.channels(moved, judged), known), K = gram(moved), { L } = known;
    const cka = K.d.reduce((sum, v, k) => sum + v * L.d[k], 0) / Math.sqrt(A.squares(K) * A.squares(L));
    const gap = trace(S.AA) + trace(S.BB) - 2 * trace(S.AB);
    return { cka, r2: 1 - gap / trace(centred(S).BB), ...procrustes(S) };
  }

  const alone = (state) => stitched({ ...state, front: "itself", turn: 0, map: "none", norm: "frozen" });
  return { stitched, measures, alone, features, hiddenElement, path, untrained,
    channels: (state) => theirs(state).c, cosines: (state) => cosines(turned(state)) };
}
