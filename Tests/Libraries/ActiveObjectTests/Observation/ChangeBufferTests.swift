import Testing

@testable import ActiveObject

@Suite struct ChangeBufferTests {
    private func inserted(_ ids: Int64...) -> ChangeSet { ChangeSet(inserted: ids) }

    @Test func `Elements are taken in order, followed by nil after the end`() async {
        let buffer = ChangeBuffer<ChangeSet>(limit: 3, keyLimit: 100)
        for id in 1...3 { buffer.send(inserted(Int64(id))) }
        buffer.end()
        buffer.send(inserted(4))
        for id in 1...3 { #expect(await buffer.next() == inserted(Int64(id))) }
        #expect(await buffer.next() == nil)
        #expect(await buffer.next() == nil)
    }

    @Test func `Too many waiting elements are merged into one incomplete element`()
        async
    {
        let buffer = ChangeBuffer<ChangeSet>(limit: 2, keyLimit: 100)
        for id in 1...10 { buffer.send(inserted(Int64(id))) }
        #expect(await buffer.next() == .unknown)
        buffer.send(inserted(11))
        #expect(await buffer.next() == inserted(11))
        buffer.end()
        #expect(await buffer.next() == nil)
    }

    @Test func `Too many keys are merged, but a single change set is kept`() async {
        let buffer = ChangeBuffer<ChangeSet>(limit: 100, keyLimit: 3)
        buffer.send(inserted(1, 2, 3, 4))
        #expect(await buffer.next() == inserted(1, 2, 3, 4))
        buffer.send(inserted(1, 2))
        buffer.send(inserted(3))
        #expect(await buffer.next() == inserted(1, 2))
        buffer.send(inserted(4, 5))
        buffer.send(inserted(6))
        #expect(await buffer.next() == .unknown)
        buffer.send(inserted(7, 8, 9))
        #expect(await buffer.next() == inserted(7, 8, 9))
    }

    @Test func `A waiting task gets the next element, or nil when it is cancelled`() async {
        let buffer = ChangeBuffer<ChangeSet>(limit: 2, keyLimit: 100)
        async let taken = buffer.next()
        buffer.send(inserted(1))
        #expect(await taken == inserted(1))
        let waiting = Task { await buffer.next() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        buffer.send(inserted(2))
        #expect(await buffer.next() == nil)
    }
}
