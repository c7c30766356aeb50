import PushAPI
import PushModel

/// `carillon activities show --follow`: prints the events of a Live Activity as they come, until its addresses have ended.
struct ActivityFollowing {
    private let subject: TraceTarget
    private let start: String?
    private let events: EventsRun
    /// The events that were printed, of those that the last search found.
    private var shown: Set<EventPlace> = []

    private struct EventPlace: Hashable {
        let part: Int
        let seq: UInt64
    }

    /// - Parameter start: The id of the message that starts the activity.
    init(_ subject: TraceTarget, start: String?, client: ControlClient, isJSON: Bool) {
        (self.subject, self.start) = (subject, start)
        events = EventsRun(client: client, prefix: nil, isJSON: isJSON)
    }

    /// Searches again whenever there are events, and not more often than once a second: no event says by itself which
    /// activity it belongs to.
    mutating func run() async throws -> ExitCode {
        var at: LogPosition?
        var connection = ConnectionWatch(verb: "activities show")
        while true {
            do {
                let next = try await events.newest(after: at)
                let page = try await TraceVerb.page(subject, asking: [("message", start)], from: events.client)
                connection.succeeded()
                at = next
                guard show(page) else { return .done }
            } catch let failure as Failure where at != nil && failure.mayPass {
                try await connection.lost(failure)
                continue
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Prints what is new. Returns false if nothing follows any more.
    private mutating func show(_ page: EventPage) -> Bool {
        var text = ""
        var found: Set<EventPlace> = []
        var (open, hasEnded): (Set<String>, Bool) = ([], false)
        for line in page.lines {
            guard let event = EventRecord(line) else { continue }
            let place = EventPlace(part: event.part, seq: event.seq)
            found.insert(place)
            if !shown.contains(place) {
                text += (events.isJSON ? String(decoding: line, as: UTF8.self) : events.readable(line)) + "\n"
            }
            guard event.family == "device", let device = event.text("device") else { continue }
            if event.kind == "deactivated" { open.remove(device) } else { open.insert(device) }
            hasEnded = hasEnded || event.reason == Deactivation.activityEnded
        }
        shown = found
        guard text.isEmpty || Terminal.output.write(text) else { return false }
        return !hasEnded || !open.isEmpty || page.leavesOut.devices
    }
}
