import PushLoop
import PushModel
import PushStore
import PushTime
import PushWire

/// One live stream of events (`text/event-stream`). An event is sent with its number as `id`, `family.kind` as `event`,
/// and the line that monitors receive as `data`.
struct EventStream: Sendable {
    /// A comment is sent after so much time without events, so that proxies and clients see that the stream lives.
    static let silence = Duration.seconds(15)
    private static let pageSize = 1000

    let reader: EventReader
    let waiting: any EventWaiting
    let prefix: String
    let caller: Caller

    /// Sends events until the client disconnects or the task is cancelled.
    ///
    /// - Parameter since: the number after which to begin; nil begins with the next new event.
    func run(since: UInt64?, to writer: StreamWriter) async {
        do {
            var at: UInt64
            if let since {
                at = since
            } else {
                at = try await reader.last(0, prefix: prefix).newest
            }
            // The first bytes tell the client that the stream has begun.
            guard await writer.send(Array("retry: 2000\n\n".utf8)) else { return }
            var isFirst = since != nil
            while !Task.isCancelled {
                let found = try await reader.forward(since: at, prefix: prefix, limit: Self.pageSize)
                if isFirst, found.oldest > at + 1 {
                    guard await writer.send(Self.gap(since: at, oldest: found.oldest)) else { return }
                }
                isFirst = false
                at = max(at, found.next)
                let chunk = text(found.lines)
                if !chunk.isEmpty {
                    guard await writer.send(chunk) else { return }
                    continue
                }
                if found.hasMore { continue }
                at = max(at, found.newest)
                if await isSilent(after: at) {
                    guard await writer.send(Array(": \n\n".utf8)) else { return }
                }
            }
        } catch {
            _ = await writer.send(Array("event: error\ndata: {\"detail\":\"the event log cannot be read\"}\n\n".utf8))
        }
        await writer.finish()
    }

    /// Waits for an event with a number above `seq`. Returns true if none came.
    private func isSilent(after seq: UInt64) async -> Bool {
        let begun = MonotonicTime.current()
        await waiting.waitForEvents(after: seq, for: Self.silence)
        return MonotonicTime.current() - begun >= Self.silence
    }

    private static func gap(since: UInt64, oldest: UInt64) -> [UInt8] {
        Array("event: gap\ndata: {\"since\":\(since),\"oldest\":\(oldest)}\n\n".utf8)
    }

    private func text(_ lines: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        for line in lines where EventLines.isVisible(line, to: caller) {
            guard let document = try? JSONDocument(line, depthLimit: EventDetails.depthLimit),
                let seq = document.value("seq", in: document.root).flatMap({ document.integer($0) }),
                let family = document.value("family", in: document.root).flatMap({ document.string($0) }),
                let kind = document.value("kind", in: document.root).flatMap({ document.string($0) })
            else { continue }
            text += Array("id: \(seq)\nevent: \(family).\(kind)\ndata: ".utf8)
            text += line
            text += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
        }
        return text
    }
}
