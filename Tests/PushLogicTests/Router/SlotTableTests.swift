import Testing

@testable import PushLogic

/// Handles and the elements that they refer to.
@Suite struct SlotTableTests {
    private typealias Table = SlotTable<MessageHandle, String>

    @Test func `A handle refers to its element until that is removed`() {
        var table = Table()
        let (one, two) = (table.add("one"), table.add("two"))
        table[two] += "!"
        #expect(table[one] == "one" && table[two] == "two!" && table.count == 2)
        table.remove(one)
        #expect(!table.contains(one) && table.contains(two) && table.count == 1)
    }

    @Test func `A stale handle does not match the next element in its slot`() {
        var table = Table()
        let first = table.add("first")
        table.remove(first)
        let second = table.add("second")
        #expect(first.slot == second.slot && first != second)
        #expect(!table.contains(first) && table.contains(second))
    }

    @Test func `A handle that was never issued does not match`() {
        var table = Table()
        #expect(!table.contains(MessageHandle(slot: 0, generation: 1)))
        _ = table.add("one")
        #expect(!table.contains(MessageHandle(slot: 0, generation: 0)))
        #expect(!table.contains(MessageHandle(slot: 1, generation: 1)))
    }

    @Test func `A ticket is the handle of its delivery`() {
        let handle = DeliveryHandle(slot: 7, generation: .max)
        #expect(DeliveryHandle(ticket: handle.ticket) == handle)
        #expect(DeliveryHandle(slot: 3, generation: 1).ticket == 1 << 32 | 3)
    }
}
