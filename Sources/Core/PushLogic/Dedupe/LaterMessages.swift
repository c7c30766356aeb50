/// The ascending numbers of the messages with one id that came after its first, for other audiences. Numbers are
/// appended at the end and removed anywhere, mostly at the front. The cost of both hardly depends on how many there
/// are.
struct LaterMessages {
    /// The bit that marks a removed number. Event numbers never get that large.
    private static let removed: UInt64 = 1 << 63

    private var numbers: [UInt64] = []
    /// The index of the first number that is not removed.
    private var start = 0
    /// The count of numbers at the front that ascend. The others were appended out of order and wait for ``sort()``.
    private var ordered = 0
    private(set) var count = 0
    /// The count of numbers that were compared or moved, apart from ``append(_:)``. Tests use it to measure the cost.
    private(set) var moves = 0

    /// The lowest number. Call ``sort()`` first if numbers were appended out of order.
    var first: UInt64? { start < numbers.count ? numbers[start] : nil }

    /// All numbers that are not removed.
    var all: [UInt64] { numbers[start...].filter { $0 & Self.removed == 0 } }

    /// Appends a number. If it is not the highest, ``sort()`` must follow.
    mutating func append(_ number: UInt64) {
        if ordered == numbers.count, (numbers.last ?? 0) & ~Self.removed < number { ordered += 1 }
        numbers.append(number)
        count += 1
    }

    /// Returns whether the number is among those in ascending order.
    mutating func contains(_ number: UInt64) -> Bool { index(of: number).map { numbers[$0] == number } ?? false }

    /// Undoes the last ``append(_:)``.
    mutating func removeLast() {
        guard start < numbers.count else { return }
        numbers.removeLast()
        ordered = min(ordered, numbers.count)
        count -= 1
    }

    /// Removes a number and returns whether it was present.
    @discardableResult
    mutating func remove(_ number: UInt64) -> Bool {
        guard let index = index(of: number), numbers[index] == number else { return false }
        numbers[index] |= Self.removed
        count -= 1
        while start < numbers.count, numbers[start] & Self.removed != 0 {
            start += 1
            moves += 1
        }
        // At least half of the numbers are removed. On average this moves less than one number per removal.
        if numbers.count > 2 * count + 16 {
            moves += numbers.count
            numbers.removeAll { $0 & Self.removed != 0 }
            start = 0
            ordered = numbers.count
        }
        return true
    }

    /// Sorts numbers that were appended out of order, and removes duplicates.
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
