import FoundationEssentials
import Glibc
import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushTime
import PushTransport

/// What operators have done with a data directory while no Carillon ran on it: a file with one line for each event,
/// which the next start writes into the log. All methods block, and their caller holds the lock of the directory.
struct PendingOperators: Sendable {
    static let fileName = "operators.pending"
    /// The maximum size in bytes. What is done beyond it is not recorded.
    private static let maxSize: Int64 = 4 << 20

    let directory: String

    private var path: String { "\(directory)/\(Self.fileName)" }

    private struct Line: Codable {
        let v: Int
        let kind: UInt8
        let app: String?
        let doneAt: WallTime
        /// The members of the event, in pairs of name and text.
        let members: [[String]]

        enum CodingKeys: String, CodingKey {
            case v, kind, app, members
            case doneAt = "done_at"
        }

        init(_ event: EventDraft) {
            v = 1
            kind = event.kind.rawValue
            app = event.app?.name
            doneAt = .current()
            members = event.details.compactMap { detail in
                if case .text(let text) = detail.value { [detail.name.text, text] } else { nil }
            }
        }

        var event: EventDraft? {
            guard v == 1, let kind = EventKind(rawValue: kind), kind.isOperator else { return nil }
            var event = EventDraft(kind, app: app.flatMap { AppID($0) })
            for member in members where member.count == 2 {
                guard let name = OperatorChange.members.first(where: { $0.text == member[0] }) else { continue }
                event.add(name, text: member[1])
            }
            event.add("done_at", number: doneAt.milliseconds)
            return event
        }
    }

    /// Adds an event, and syncs it to disk.
    func add(_ change: OperatorChange) throws(StartError) {
        let line = Line(change.event(by: OperatorName(user: getuid())))
        guard let bytes = try? JSONEncoder().encode(line) else { return }
        try add(Array(bytes) + [0x0a])
    }

    /// Adds the lines of another directory, whose files this one replaces.
    func add(linesOf other: PendingOperators) throws(StartError) {
        guard let bytes = try? BoundedFile.read(other.path, limit: Int(Self.maxSize)), !bytes.isEmpty else { return }
        try add(bytes)
    }

    private func add(_ bytes: [UInt8]) throws(StartError) {
        try SyncedLines.add(bytes, to: path, in: directory, maxBytes: Self.maxSize)
    }

    /// The events in the file, in order, each with a name that no other one has. Lines that cannot be read are left out.
    func events() -> [(name: String, draft: EventDraft)] {
        guard let bytes = try? BoundedFile.read(path, limit: 2 * Int(Self.maxSize)) else { return [] }
        return bytes.split(separator: 0x0a).enumerated().compactMap { place, line in
            guard let event = (try? JSONDecoder().decode(Line.self, from: Data(line)))?.event else { return nil }
            return ("\(place) \(Hex.encode(SHA256.hash(Array(line)).bytes))", event)
        }
    }

    /// Removes the file, when its events are in the log. A crash before that writes them again.
    func remove() { unlink(path) }
}
