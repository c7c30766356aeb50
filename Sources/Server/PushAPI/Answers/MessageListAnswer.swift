package import PushStore

/// A page of messages, the latest first.
package struct MessageListAnswer: JSONAnswer, Equatable {
    package var messages: [MessageSummary]
    package var next: PageCursor

    init(_ page: MessagePage) {
        messages = page.messages
        next = PageCursor(page.next)
    }
}

extension MessageSummary: JSONAnswer {}
extension MessageSummary.State: SchemaChoice {}
extension MessageObstacle.Code: SchemaChoice {}
