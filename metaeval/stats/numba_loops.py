"""Loops that numba compiles; see `metaeval.stats.arrays`. Imported only where numba is installed."""

from __future__ import annotations

import logging
from typing import Any

import numba
import numpy as np

_log = logging.getLogger("metaeval")

_compiled = numba.njit(cache=True, nogil=True)


def tell_of_compiling() -> None:
    """Log once that loops are being compiled, when numba begins to because its cache has none for this machine."""
    from numba.core import event

    class Notice(event.Listener):  # type: ignore[misc]
        logged = False

        def on_start(self, event: Any) -> None:
            if not self.logged and event.data["dispatcher"].py_func.__module__ == __name__:
                self.logged = True
                _log.info("Compiling loops for this machine: once, about 15 s ...")

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Notice())


@_compiled
def count_wins(group, level, count, start, weights, n_levels, ties, rows, wins, squares, cubes):  # type: ignore[no-untyped-def]
    """Fill rows, wins, squares and cubes (zeros at first) of `rank_counts.Wins` in one pass.

    group, level, count, start: of `Entries`. weights: (n_groups, R). ties: fill squares and cubes, of blocks of
    several.
    """
    width = weights.shape[1]
    below = np.zeros((n_levels, width), dtype=np.int32)
    tied = np.zeros((n_levels, width), dtype=np.int32)
    for block in range(start.size - 1):
        first, end = start[block], start[block + 1]
        lowest, highest = level[first], level[end - 1]
        if end - first == 1 and count[first] == 1:
            # Most blocks of a continuous score; their ties with themselves are counted by group, outside.
            weight = weights[group[first]]
            for lower in range(lowest):
                place = lowest * (lowest - 1) // 2 + lower
                for r in range(width):
                    wins[place, r] += 2 * np.int64(weight[r]) * np.int64(below[lower, r])
            for r in range(width):
                below[lowest, r] += np.int32(weight[r])
            continue
        for i in range(first, end):
            weight, row_level, times = weights[group[i]], level[i], np.int32(count[i])
            for r in range(width):
                tied[row_level, r] += times * np.int32(weight[r])
        for higher in range(max(lowest, 1), highest + 1):
            for lower in range(higher):
                place = higher * (higher - 1) // 2 + lower
                if lower < lowest:
                    for r in range(width):
                        wins[place, r] += 2 * np.int64(tied[higher, r]) * np.int64(below[lower, r])
                else:
                    for r in range(width):
                        wins[place, r] += np.int64(tied[higher, r]) * (
                            2 * np.int64(below[lower, r]) + np.int64(tied[lower, r])
                        )
        if ties and end - first > 1:
            for r in range(width):
                size = np.int64(0)
                for row_level in range(lowest, highest + 1):
                    size += np.int64(tied[row_level, r])
                squares[r] += size * size
                cubes[r] += np.float64(size) * np.float64(size) * np.float64(size)
        for row_level in range(lowest, highest + 1):
            for r in range(width):
                below[row_level, r] += tied[row_level, r]
                tied[row_level, r] = 0
    rows[:] = below


@_compiled
def count_orders(group, level, count, start, weights, n_levels, rows, over, upward, squares, cubes):  # type: ignore[no-untyped-def]
    """Fill rows, over, upward, squares and cubes (zeros at first) of `group_counts.Orders` in one pass.

    group, level, count, start: of `Entries`. weights: (n_groups, R). Blocks of one entry add no squares or cubes.
    """
    # Twice what a row outranks: the rows before its block, and those up to its end.
    width = weights.shape[1]
    below = np.zeros((n_levels + 1, width), dtype=np.int32)  # rows of lower levels; in the last place all
    before = np.zeros(width, dtype=np.int64)
    for block in range(start.size - 1):
        first, end = start[block], start[block + 1]
        if end - first == 1:
            # Most blocks of a continuous score: below it is the same before and after.
            weight, few, row_level = weights[group[first]], np.int32(count[first]), level[first]
            for r in range(width):
                more = few * np.int32(weight[r])
                over[row_level, r] += np.int64(more) * (2 * np.int64(below[n_levels, r]) + more)
                upward[r] += 2 * np.int64(more) * np.int64(below[row_level, r])
            for higher in range(row_level + 1, n_levels + 1):
                for r in range(width):
                    below[higher, r] += few * np.int32(weight[r])
            continue
        for r in range(width):
            before[r] = below[n_levels, r]
        for after in range(2):
            for i in range(first, end):
                weight, times, row_level = weights[group[i]], np.int64(count[i]), level[i]
                for r in range(width):
                    rows_of = times * np.int64(weight[r])
                    over[row_level, r] += rows_of * np.int64(below[n_levels, r])
                    upward[r] += rows_of * np.int64(below[row_level, r])
            if not after:
                for i in range(first, end):
                    weight, few = weights[group[i]], np.int32(count[i])
                    for higher in range(level[i] + 1, n_levels + 1):
                        for r in range(width):
                            below[higher, r] += few * np.int32(weight[r])
        for r in range(width):
            size = np.int64(below[n_levels, r]) - before[r]
            squares[r] += size * size
            cubes[r] += np.float64(size) * np.float64(size) * np.float64(size)
    for row_level in range(n_levels):
        for r in range(width):
            rows[row_level, r] = below[row_level + 1, r] - below[row_level, r]


@_compiled
def _midranks(count, rank):  # type: ignore[no-untyped-def]
    """Fill rank, (m,), with the centred midranks of m tie blocks of count[i] rows, in ascending order of value."""
    half = 0.5 * count.sum()
    seen = 0.0
    for i in range(count.size):
        rank[i] = seen + 0.5 * count[i] - half
        seen += count[i]


@_compiled
def ranks_left_out(counts, by_stratum, stratum, entries, start, sums):  # type: ignore[no-untyped-def]
    """Fill sums, (6, S, G), with each stratum's moments of midranks without each group in turn.

    The six are number of rows, sums of x, y, x * x, y * y and x * y, of centred midranks of score and gold. counts:
    rows of each score block, and of each gold level. by_stratum: two, block and level of each row, which lie between
    stratum[s] and stratum[s + 1]. entries: four, block, level, stratum and number of rows, between start[g] and start[g
    + 1].
    """
    block_count, level_count = counts
    row_block, row_level = by_stratum
    block, level, code, count = entries
    by_score = np.zeros(block_count.size)
    by_gold = np.zeros(level_count.size)
    for g in range(start.size - 1):
        for i in range(start[g], start[g + 1]):
            block_count[block[i]] -= count[i]
            level_count[level[i]] -= count[i]
        _midranks(block_count, by_score)
        _midranks(level_count, by_gold)
        for s in range(stratum.size - 1):
            sx, sy, sxx, syy, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(stratum[s], stratum[s + 1]):
                x, y = by_score[row_block[i]], by_gold[row_level[i]]
                sx += x
                sy += y
                sxx += x * x
                syy += y * y
                sxy += x * y
            sums[0, s, g] = stratum[s + 1] - stratum[s]
            sums[1, s, g], sums[2, s, g] = sx, sy
            sums[3, s, g], sums[4, s, g], sums[5, s, g] = sxx, syy, sxy
        for i in range(start[g], start[g + 1]):
            x, y, n, s = by_score[block[i]], by_gold[level[i]], count[i], code[i]
            sums[0, s, g] -= n
            sums[1, s, g] -= n * x
            sums[2, s, g] -= n * y
            sums[3, s, g] -= n * x * x
            sums[4, s, g] -= n * y * y
            sums[5, s, g] -= n * x * y
            block_count[block[i]] += n
            level_count[level[i]] += n


@_compiled
def _inserted(value, count, code, mean, patience, key, cell):  # type: ignore[no-untyped-def]
    """Fill key with value[i] - mean[code[i]] of count[i] > 0, ascending, and cell with i; return how many.

    -1 where that takes more than `patience` moves; key and cell are then filled in part.
    """
    size = 0
    for i in range(value.size):
        if count[i] > 0:
            residual, k = value[i] - mean[code[i]], size
            while k > 0 and residual < key[k - 1]:
                key[k], cell[k] = key[k - 1], cell[k - 1]
                k -= 1
            key[k], cell[k] = residual, i
            patience -= size - k
            size += 1
            if patience < 0:
                return -1
    return size


@_compiled
def _residual_ranks(column, mean, suspicious, ties, buffers, rank):  # type: ignore[no-untyped-def]
    """Fill rank with centred midranks of values minus their stratum's mean, or 0 for all; return the sum of squares."""
    value, count, code, member, stratum = column
    key, cell = buffers
    largest, most = 0.0, 0.0
    rank[:] = 0
    for s in range(stratum.size - 1):
        first, last = stratum[s], stratum[s + 1] - 1
        while first <= last and count[member[first]] == 0:
            first += 1
        while first <= last and count[member[last]] == 0:
            last -= 1
        if first <= last:
            for end in (member[first], member[last]):
                largest, most = max(largest, abs(value[end] - mean[s])), max(most, abs(value[end]))
    if largest <= suspicious * most:
        return 0.0
    # Sorting takes about as long as that many moves.
    size = _inserted(value, count, code, mean, 16 * value.size, key, cell)
    if size < 0:
        cell = np.flatnonzero(count)
        key = value[cell] - mean[code[cell]]
        order = np.argsort(key)
        key, cell, size = key[order], cell[order], cell.size
    rows = count.sum()
    spread = 0.0
    seen = 0
    first = 0
    while first < size:
        end, tied = first + 1, count[cell[first]]
        while end < size and key[end] - key[end - 1] <= ties * largest:
            tied += count[cell[end]]
            end += 1
        midrank = seen + 0.5 * tied - 0.5 * rows
        for i in range(first, end):
            rank[cell[i]] = midrank
        spread += tied * (midrank * midrank)
        seen += tied
        first = end
    return spread


@_compiled
def residual_left_out(x, y, sums, pairs, rows, start, suspicious, ties, coefficients):  # type: ignore[no-untyped-def]
    """Fill coefficients, (G,), with Spearman's rho of the residuals without each group in turn; undefined ones stay.

    x, y: the cells of score and gold as `correlations._distinct` gives them; sums: two arrays, totals of x and y by
    stratum. pairs: x cell, y cell and number of rows of each combination. rows: x cell, y cell and stratum of each row,
    sorted by group, of which those from start[g] to start[g + 1] lie in g. suspicious, ties: `SUSPICIOUS` and
    `RESIDUAL_TIES` of `correlations`.
    """
    x_value, x_count, y_value, y_count = x[0], x[1], y[0], y[1]
    x_sum, y_sum = sums
    pair_x, pair_y, pair_count = pairs
    row_x, row_y, row_code = rows
    n_strata = x_sum.size
    size = max(x_value.size, y_value.size)
    buffers = np.empty(size), np.empty(size, np.int64)
    x_rank, y_rank = np.zeros(x_value.size), np.zeros(y_value.size)
    x_mean, y_mean = np.empty(n_strata), np.empty(n_strata)
    size_of = np.zeros(n_strata, dtype=np.int64)
    for i in range(row_code.size):
        size_of[row_code[i]] += 1
    left = np.empty(n_strata, dtype=np.int64)
    for g in range(start.size - 1):
        left[:], x_mean[:], y_mean[:] = size_of, x_sum, y_sum
        for i in range(start[g], start[g + 1]):
            left[row_code[i]] -= 1
            x_mean[row_code[i]] -= x_value[row_x[i]]
            y_mean[row_code[i]] -= y_value[row_y[i]]
            x_count[row_x[i]] -= 1
            y_count[row_y[i]] -= 1
        for s in range(n_strata):
            x_mean[s] /= max(left[s], 1)
            y_mean[s] /= max(left[s], 1)
        y_spread = _residual_ranks(y, y_mean, suspicious, ties, buffers, y_rank)
        x_spread = 0.0
        if y_spread > 0:
            x_spread = _residual_ranks(x, x_mean, suspicious, ties, buffers, x_rank)
        spread = np.sqrt(x_spread) * np.sqrt(y_spread)
        if spread > 0:
            product = 0.0
            for i in range(pair_x.size):
                product += pair_count[i] * (x_rank[pair_x[i]] * y_rank[pair_y[i]])
            for i in range(start[g], start[g + 1]):
                product -= x_rank[row_x[i]] * y_rank[row_y[i]]
            coefficients[g] = min(max(product / spread, -1.0), 1.0)
        for i in range(start[g], start[g + 1]):
            x_count[row_x[i]] += 1
            y_count[row_y[i]] += 1


@_compiled
def sum_groups(moments, group, weights, total):  # type: ignore[no-untyped-def]
    """Add to total, (K, R), the sums over rows of weight x moment; moments: (m, K), group: (m,), weights: (G, R)."""
    # Four rows a pass, added one after another: a sum is read and written once for all four.
    width = weights.shape[1]
    w0, w1, w2, w3 = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    rest = moments.shape[0] % 4
    for i in range(0, moments.shape[0] - rest, 4):
        g0, g1, g2, g3 = weights[group[i]], weights[group[i + 1]], weights[group[i + 2]], weights[group[i + 3]]
        for r in range(width):
            w0[r], w1[r], w2[r], w3[r] = g0[r], g1[r], g2[r], g3[r]
        for k in range(moments.shape[1]):
            a, b, c, d = moments[i, k], moments[i + 1, k], moments[i + 2, k], moments[i + 3, k]
            totals = total[k]
            for r in range(width):
                totals[r] = (((totals[r] + w0[r] * a) + w1[r] * b) + w2[r] * c) + w3[r] * d
    for i in range(moments.shape[0] - rest, moments.shape[0]):
        weight = weights[group[i]]
        for k in range(moments.shape[1]):
            for r in range(width):
                total[k, r] += weight[r] * moments[i, k]


@_compiled
def _sort_pool(score, gold, order, low, high):  # type: ignore[no-untyped-def]
    """Sort order[low:high], row numbers, in place by falling score, then rising gold, stably."""
    if high - low > 64:
        rows = order[low:high].copy()
        by_gold = rows[np.argsort(gold[rows], kind="mergesort")]
        order[low:high] = by_gold[np.argsort(-score[by_gold], kind="mergesort")]
        return
    for i in range(low + 1, high):
        row = order[i]
        j = i - 1
        while j >= low and (
            score[order[j]] < score[row] or (score[order[j]] == score[row] and gold[order[j]] > gold[row])
        ):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = row


@_compiled
def order_pools(score, gold, start, order):  # type: ignore[no-untyped-def]
    """Sort each pool's row numbers, order[start[p]:start[p + 1]], in place by falling score, then rising gold."""
    for p in range(start.size - 1):
        _sort_pool(score, gold, order, start[p], start[p + 1])


@_compiled
def ndcg_pools(score, gain, start, order, up_to, cutoffs, values):  # type: ignore[no-untyped-def]
    """Fill values, (cut-offs, pools), with NDCG expected over tied orders, or NaN; sort pools of `order` in place."""
    flat = np.zeros(score.size)
    for p in range(start.size - 1):
        low, high = start[p], start[p + 1]
        _sort_pool(score, gain, order, low, high)
        for c in range(cutoffs.size):
            k = cutoffs[c]
            total = 0.0
            at = low
            while at < high and at - low < k:
                end = at
                while end < high and score[order[end]] == score[order[at]]:
                    end += 1
                mean = (up_to[min(end - low, k)] - up_to[min(at - low, k)]) / (end - at)
                for i in range(at, end):
                    total += gain[order[i]] * mean
                at = end
            values[c, p] = total
        _sort_pool(gain, flat, order, low, high)
        for c in range(cutoffs.size):
            ideal = 0.0
            for rank in range(min(high - low, cutoffs[c])):
                ideal += gain[order[low + rank]] * (up_to[rank + 1] - up_to[rank])
            values[c, p] = values[c, p] / ideal if ideal > 0 else np.nan
