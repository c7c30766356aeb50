package import PushModel
import PushTime
import PushWire

/// What an operator has done with a single node, as its file has it. The log of the store gets those events that the log
/// of the node has no more.
package struct ImportedOperation: Sendable {
    /// The number that the event had in the log of the node.
    let seq: UInt64
    let event: EventDraft

    /// - Parameter event: It says in `done_at` when that was.
    package init(_ seq: UInt64, _ event: EventDraft) {
        (self.seq, self.event) = (seq, event)
    }

    /// Returns a segment of the event, under its former number: a webhook has had it if it has had that number.
    func segment(at time: WallTime) -> LogSegment {
        var writer = LogWriter(next: seq)
        writer.begin(time: time, reserving: 256)
        writer.add(event, at: time)
        return writer.finish()
    }
}
