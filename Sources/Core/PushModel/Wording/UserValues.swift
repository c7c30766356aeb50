/// The values that a message has for each of its users, in one piece of memory.
package struct UserValues: Sendable {
    /// The largest number of names in the texts of a message.
    package static let maxNames = 64

    /// The users in ascending order of their bytes, each once.
    package let users: [String]
    /// The number of values of each user.
    package let count: Int
    /// The values, user by user, as they stand within a string of JSON.
    private var bytes: [UInt8] = []
    /// The end of each value.
    private var ends: [UInt32] = []

    /// - Parameter users: The users in ascending order.
    package init(of users: [String], count: Int) {
        self.users = users
        self.count = count
        ends.reserveCapacity(users.count * count)
    }

    /// Adds the next value. Returns whether there was room for it.
    package mutating func add(_ value: some Collection<UInt8>) -> Bool {
        guard ends.count < users.count * count, let end = UInt32(exactly: bytes.count + value.count) else {
            return false
        }
        bytes += value
        ends.append(end)
        return true
    }

    /// Whether each user has all values.
    package var isComplete: Bool { ends.count == users.count * count }

    /// The number of bytes in memory, without the users.
    package var size: Int { bytes.count + 4 * ends.count }

    /// Returns the number of a user; nil if the message has no values for that user.
    package func number(of user: String) -> Int? {
        var (low, high) = (0, users.count)
        while low < high {
            let middle = low + (high - low) / 2
            if users[middle].precedesInBytes(user) { low = middle + 1 } else { high = middle }
        }
        return low < users.count && users[low].utf8.elementsEqual(user.utf8) ? low : nil
    }

    package func value(_ number: Int, of user: Int) -> ArraySlice<UInt8> { bytes[range(number, of: user)] }

    package func length(_ number: Int, of user: Int) -> Int { range(number, of: user).count }

    private func range(_ number: Int, of user: Int) -> Range<Int> {
        let index = user * count + number
        return (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index])
    }
}

extension String {
    /// Whether the text comes before another one in the order of their bytes, in which users are kept.
    package func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
