import PushLoop
import PushModel
import PushStore
import PushTime
import PushTransport
import PushWire

/// One live stream of events (`text/event-stream`). An event is sent with its number as `id`, `family.kind` as `event`,
/// and the line that monitors receive as `data`. In a cluster, `id` is the place in all parts, and the last event of each
/// chunk has it.
struct EventStream: Sendable {
    /// A comment is sent after so much time without events, so that proxies and clients see that the stream lives.
    static let silence = Duration.seconds(15)
    private static let pageSize = 1000
    /// How often the parts of other nodes are looked at.
    static let poll = Duration.seconds(1)

    /// Reads the events that the caller may see.
    let reader: EventReader
    let waiting: CommittedEvents
    let prefix: String
    let searches: SearchQueue
    let client: LongRequestQuota.Client

    /// Answers with events until the client disconnects or the task is cancelled.
    ///
    /// - Parameter since: the place after which to begin; nil begins with the next new event.
    func run(since: LogPosition?, to writer: StreamWriter, headers: HTTP1Headers) async {
        let place: LogPosition
        do {
            if let since { place = since } else { place = try await reader.last(0, prefix: prefix).newest }
        } catch {
            return await writer.answer(APIAnswer(failedBy: error))
        }
        // The place is known before the head is sent: a client that has the head gets every event from then on.
        guard await writer.start(headers: headers) else { return }
        await send(from: place, isReplay: since != nil, to: writer)
    }

    private func send(from place: LogPosition, isReplay: Bool, to writer: StreamWriter) async {
        var at = place
        do {
            guard await writer.send(Array("retry: 2000\n\n".utf8)) else { return }
            var (isFirst, isBehind) = (isReplay, isReplay)
            var lastSent = MonotonicTime.current()
            while !Task.isCancelled {
                let found = try await read(after: at, isBehind: isBehind)
                isBehind = isBehind && found.hasMore
                // On a single node, events may be missing in the middle, too: after a restore from a backup.
                if isFirst || isWhole {
                    for gap in found.gaps(since: at) {
                        guard await writer.send(Self.text(gap)) else { return }
                    }
                }
                isFirst = false
                at.raise(to: found.next)
                let chunk = text(found.lines, upTo: at)
                if !chunk.isEmpty {
                    guard await writer.send(chunk) else { return }
                    lastSent = .current()
                    continue
                }
                if found.hasMore { continue }
                at.raise(to: found.newest)
                let silence = Self.silence - (MonotonicTime.current() - lastSent)
                await waiting.waitForEvents(after: at, for: isWhole ? silence : min(silence, Self.poll))
                if MonotonicTime.current() - lastSent >= Self.silence {
                    guard await writer.send(Array(": \n\n".utf8)) else { return }
                    lastSent = .current()
                }
            }
        } catch is CancellationError {
            // The client has gone, or the server ends.
        } catch {
            _ = await writer.send(Array("event: error\ndata: {\"detail\":\"the event log cannot be read\"}\n\n".utf8))
        }
        await writer.finish()
    }

    /// Reads the next events. Until it has come to the end of the log, a stream takes turns with other requests.
    private func read(after place: LogPosition, isBehind: Bool) async throws -> EventReader.Found {
        let turn = isBehind ? try await turn() : nil
        defer { turn?.leave() }
        return try await reader.forward(since: place, prefix: prefix, limit: Self.pageSize)
    }

    /// Waits for a turn, also while other requests have all places: the stream has begun.
    private func turn() async throws -> SearchQueue.Place {
        while true {
            do {
                return try await searches.enter(for: client)
            } catch let problem as Problem where problem.code == .tooManyRequests {
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Whether this process writes the whole log.
    private var isWhole: Bool { reader.log.partCount == 1 }

    private static func text(_ gap: (part: Int, since: UInt64, oldest: UInt64)) -> [UInt8] {
        let part = gap.part == 0 ? "" : ",\"part\":\(gap.part)"
        return Array("event: gap\ndata: {\"since\":\(gap.since),\"oldest\":\(gap.oldest)\(part)}\n\n".utf8)
    }

    /// Writes a chunk of events, after which the stream is at `place`.
    private func text(_ lines: [[UInt8]], upTo place: LogPosition) -> [UInt8] {
        var text: [UInt8] = []
        for (index, line) in lines.enumerated() {
            guard let document = try? JSONDocument(line, depthLimit: EventDetails.depthLimit),
                let seq = document.value("seq", in: document.root).flatMap({ document.integer($0) }),
                let family = document.value("family", in: document.root).flatMap({ document.string($0) }),
                let kind = document.value("kind", in: document.root).flatMap({ document.string($0) })
            else { continue }
            if isWhole {
                text += Array("id: \(seq)\n".utf8)
            } else if index == lines.count - 1 {
                // The place of all parts is long, and would be the same as far as a client that reconnects can tell.
                text += Array("id: \(place)\n".utf8)
            }
            text += Array("event: \(family).\(kind)\ndata: ".utf8)
            text += line
            text += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
        }
        return text
    }
}
