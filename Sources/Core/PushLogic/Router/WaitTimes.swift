package import PushTime

/// The times since which some things wait, of which the oldest is wanted. To add, to remove and to read the oldest cost
/// the same for one thing and for millions.
///
/// Times are counted in steps. A step is a millisecond at first, and grows when there are too many different ones, so
/// that the memory is bounded. The oldest time is then early by less than a step, which is less than a five-hundredth
/// of the range of the times.
package struct WaitTimes: Sendable {
    private struct Step: Sendable {
        var number: Int64
        var count: Int
    }

    /// The maximum number of steps.
    package static let maxSteps = 1024

    /// The steps in ascending order. Those before `head` are used up. The one at `head` is not empty.
    private var steps: [Step] = []
    private var head = 0
    /// The length of a step is this power of two, in milliseconds.
    private var scale: Int64 = 0
    /// The number of steps that occupy memory.
    package var stepCount: Int { steps.count - head }
    /// The number of things that wait.
    package private(set) var count = 0

    package init() {}

    /// The time since which the oldest thing waits; nil if nothing waits.
    package var oldest: WallTime? { count == 0 ? nil : WallTime(milliseconds: steps[head].number << scale) }

    package mutating func add(_ time: WallTime, count added: Int = 1) {
        guard added > 0 else { return }
        count += added
        let number = time.milliseconds >> scale
        if let last = steps.last, last.number >= number {
            let place = place(of: number)
            if steps[place].number == number {
                steps[place].count += added
            } else {
                steps.insert(Step(number: number, count: added), at: place)
            }
        } else {
            steps.append(Step(number: number, count: added))
        }
        if steps.count - head > Self.maxSteps { coarsen() }
    }

    /// Removes one thing that was added with this time.
    package mutating func remove(_ time: WallTime) {
        guard count > 0 else { return }
        let number = time.milliseconds >> scale
        var place = head
        if steps[head].number != number {
            place = self.place(of: number)
            guard place < steps.count, steps[place].number == number, steps[place].count > 0 else { return }
        }
        steps[place].count -= 1
        count -= 1
        skipEmpty()
    }

    /// Removes things whose times are not known any more: the oldest ones, because they end first as a rule.
    package mutating func removeOldest(_ removed: Int) {
        var left = min(removed, count)
        while left > 0 {
            let taken = min(left, steps[head].count)
            steps[head].count -= taken
            count -= taken
            left -= taken
            skipEmpty()
        }
    }

    /// Returns the position of the first step from `head` on that is not before `number`.
    private func place(of number: Int64) -> Int {
        var (low, high) = (head, steps.count)
        while low < high {
            let middle = low + (high - low) / 2
            if steps[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func skipEmpty() {
        if count == 0 {
            // The memory is kept, because a busy lane is empty often.
            steps.removeAll(keepingCapacity: steps.count <= 64)
            (head, scale) = (0, 0)
            return
        }
        while steps[head].count == 0 { head += 1 }
        if head >= 64, head * 2 >= steps.count {
            steps.removeFirst(head)
            head = 0
        }
    }

    /// Doubles the length of a step until half of the room is free.
    private mutating func coarsen() {
        var merged: [Step] = []
        merged.reserveCapacity(Self.maxSteps)
        var rest = steps[head...].filter { $0.count > 0 }
        while rest.count > Self.maxSteps / 2 {
            scale += 1
            merged.removeAll(keepingCapacity: true)
            for step in rest {
                let number = step.number >> 1
                if let last = merged.last, last.number == number {
                    merged[merged.count - 1].count += step.count
                } else {
                    merged.append(Step(number: number, count: step.count))
                }
            }
            rest = merged
        }
        steps = rest
        head = 0
    }
}
