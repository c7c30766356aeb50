/// The numbers of the messages of one id that came after its first, for other audiences: ascending. They are added at
/// the end and removed anywhere, mostly at the front, and none of that costs more where there are many.
struct LaterMessages {
    /// Marks a number that was removed. Numbers of events never get that far.
    private static let removed: UInt64 = 1 << 63

    private var numbers: [UInt64] = []
    /// Those before it are removed; the one there is not.
    private var start = 0
    /// Of the numbers, those that ascend. The others were added out of order, until `sort`.
    private var ordered = 0
    private(set) var count = 0
    /// Numbers that were looked at or moved, but for those of `append`: what tests compare to see what that costs.
    private(set) var moves = 0

    /// The lowest of them. Not before `sort`.
    var first: UInt64? { start < numbers.count ? numbers[start] : nil }

    /// In any order, as long as `sort` follows.
    mutating func append(_ number: UInt64) {
        if ordered == numbers.count, (numbers.last ?? 0) & ~Self.removed < number { ordered += 1 }
        numbers.append(number)
        count += 1
    }

    /// Whether it is among those that ascend.
    mutating func contains(_ number: UInt64) -> Bool { index(of: number).map { numbers[$0] == number } ?? false }

    /// Takes back what `append` did last.
    mutating func removeLast() {
        guard start < numbers.count else { return }
        numbers.removeLast()
        ordered = min(ordered, numbers.count)
        count -= 1
    }

    /// Whether it was there.
    @discardableResult
    mutating func remove(_ number: UInt64) -> Bool {
        guard let index = index(of: number), numbers[index] == number else { return false }
        numbers[index] |= Self.removed
        count -= 1
        while start < numbers.count, numbers[start] & Self.removed != 0 {
            start += 1
            moves += 1
        }
        // Half of them and more are gone: to move the others now and then is less than one step for each removal.
        if numbers.count > 2 * count + 16 {
            moves += numbers.count
            numbers.removeAll { $0 & Self.removed != 0 }
            start = 0
            ordered = numbers.count
        }
        return true
    }

    /// Puts what was added out of order in its place, each number once.
    mutating func sort() {
        guard ordered < numbers.count else { return }
        moves += numbers.count
        numbers.removeAll { $0 & Self.removed != 0 }
        numbers.sort()
        var unique: [UInt64] = []
        unique.reserveCapacity(numbers.count)
        for number in numbers where number != unique.last { unique.append(number) }
        numbers = unique
        start = 0
        ordered = unique.count
        count = unique.count
    }

    private mutating func index(of number: UInt64) -> Int? {
        var low = start
        var high = ordered
        while low < high {
            let middle = (low + high) / 2
            moves += 1
            if numbers[middle] & ~Self.removed < number { low = middle + 1 } else { high = middle }
        }
        return low < ordered && numbers[low] & ~Self.removed == number ? low : nil
    }
}
