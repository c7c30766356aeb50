import PushModel

/// A message number for each part of the ledger, 0 for none.
struct PartNumbers: Sendable {
    /// A ledger in files has one part, so that the table has one element then.
    private var numbers: [UInt64] = []

    subscript(part: Int) -> UInt64 { part < numbers.count ? numbers[part] : 0 }

    /// Raises the number of a message's part to the number of the message.
    mutating func note(_ seq: UInt64) {
        let part = EventNumber.part(of: seq)
        if part >= numbers.count { numbers.append(contentsOf: repeatElement(0, count: part + 1 - numbers.count)) }
        numbers[part] = max(numbers[part], seq)
    }
}
