import Testing

@testable import PushLogic

/// Handles and the elements that they refer to.
@Suite struct SlotTableTests {
    private typealias Table = SlotTable<MessageHandle, String>

    @Test func `A handle refers to its element until that is removed`() {
        var table = Table()
        let (one, two) = (table.add("one"), table.add("two"))
        table[two] += "!"
        let (first, second) = (table[one], table[two])
        #expect(first == "one" && second == "two!")
        table.remove(one)
        let (hasOne, hasTwo, count) = (table.contains(one), table.contains(two), table.count)
        #expect(!hasOne && hasTwo && count == 1)
    }

    @Test func `A stale handle does not match the next element in its slot`() {
        var table = Table()
        let first = table.add("first")
        table.remove(first)
        let second = table.add("second")
        #expect(first.slot == second.slot && first != second)
        let (hasFirst, hasSecond) = (table.contains(first), table.contains(second))
        #expect(!hasFirst && hasSecond)
    }

    @Test func `A handle that was never issued does not match`() {
        var table = Table()
        let isInEmpty = table.contains(MessageHandle(slot: 0, generation: 1))
        #expect(!isInEmpty)
        table.remove(table.add("one"))
        for generation in 0..<4 as Range<UInt32> {
            for slot in 0..<2 as Range<UInt32> {
                let isIn = table.contains(MessageHandle(slot: slot, generation: generation))
                #expect(!isIn)
            }
        }
    }

    @Test func `Elements keep their handles when the table grows, and are released with it`() {
        final class Element {}
        weak var last: Element?
        do {
            var table = SlotTable<MessageHandle, Element>()
            var elements: [(MessageHandle, Element)] = []
            for _ in 0..<100 {
                let element = Element()
                elements.append((table.add(element), element))
            }
            for (handle, element) in elements {
                let isSame = table[handle] === element
                #expect(isSame)
            }
            last = elements.last?.1
            elements = []
            #expect(last != nil)
        }
        #expect(last == nil)
    }

    @Test func `A ticket is the handle of its delivery`() {
        let handle = DeliveryHandle(slot: 7, generation: .max)
        #expect(DeliveryHandle(ticket: handle.ticket) == handle)
        #expect(DeliveryHandle(slot: 3, generation: 1).ticket == 1 << 32 | 3)
    }
}
