import Testing

@testable import PushLogic

@Suite struct RememberedMessagesTests {
    @Test func `After a failed commit its messages are forgotten and earlier ones are kept`() {
        var messages = RememberedMessages()
        messages.addFirst(1, of: 7)
        _ = messages.addLater(2, of: 7, for: 70)
        let again = messages.addLater(3, of: 7, for: 70)
        let other = messages.addLater(4, of: 7, for: 71)
        #expect(messages.count == 4)
        messages.takeBack(other)
        messages.takeBack(again)
        #expect(messages.later(of: 7, for: 70) == 2)
        #expect(messages.later(of: 7, for: 71) == nil)
        #expect(messages.count == 2)
        messages.remove(1, of: 7, for: 69)
        #expect(messages.first(of: 7) == 2)
        #expect(messages.later(of: 7, for: 70) == 2)
        messages.remove(2, of: 7, for: 70)
        #expect(messages.count == 0)
        #expect(messages.later(of: 7, for: 70) == nil)
    }

    @Test func `A restored scheduled message does not replace a newer one of its audience`() {
        var messages = RememberedMessages()
        messages.recall(1, of: 7, for: 69)
        messages.recall(5, of: 7, for: 70)
        messages.recallScheduled(3, of: 7, for: 70) { _ in nil }
        _ = messages.finishRecalling()
        #expect(messages.later(of: 7, for: 70) == 5)
        #expect(messages.count == 3)
    }
}
