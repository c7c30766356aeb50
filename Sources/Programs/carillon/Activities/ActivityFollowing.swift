import PushAPI
import PushModel

/// `carillon activities show --follow`: prints the events of a Live Activity as they come, until its addresses have ended.
struct ActivityFollowing {
    private let subject: TraceTarget
    private let start: String?
    private let events: EventsRun
    /// The events that were printed, of those that the last search found.
    private var shown: Set<EventPlace> = []
    /// Whether the activity had an address in any search.
    private var hadAddress = false

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
    /// activity it belongs to. If no address is left, one more search tells whether another has replaced it.
    mutating func run() async throws -> ExitCode {
        var at: LogPosition?
        var isOver = false
        var connection = ConnectionWatch(verb: "activities show")
        while true {
            do {
                var next = at
                if !isOver { next = try await events.newest(after: at) }
                let page = try await TraceVerb.page(subject, asking: [("message", start)], from: events.client)
                connection.succeeded()
                if at == nil, page.lines.isEmpty { sayWaiting() }
                at = next
                let wasOver = isOver
                guard show(page) else { return .done }
                isOver = hasEnded(page)
                if isOver, wasOver { return .done }
            } catch let failure as Failure where at != nil && failure.mayPass {
                try await connection.lost(failure)
                continue
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func sayWaiting() {
        Terminal.error.write(
            "carillon activities show: no event mentions \(subject.name) yet; waiting for the first, until Ctrl-C\n")
    }

    /// Whether there were addresses of the activity, and none is active.
    private mutating func hasEnded(_ page: EventPage) -> Bool {
        var open: Set<String> = []
        for event in page.lines.compactMap({ EventRecord($0) }) where event.family == "device" {
            guard let device = event.text("device") else { continue }
            hadAddress = true
            if event.kind == "deactivated" { open.remove(device) } else { open.insert(device) }
        }
        return hadAddress && open.isEmpty && !page.leavesOut.devices
    }

    /// Prints what is new. Returns false if the output is closed.
    private mutating func show(_ page: EventPage) -> Bool {
        var text = ""
        var found: Set<EventPlace> = []
        for line in page.lines {
            guard let event = EventRecord(line) else { continue }
            let place = EventPlace(part: event.part, seq: event.seq)
            found.insert(place)
            if !shown.contains(place) {
                text += (events.isJSON ? String(decoding: line, as: UTF8.self) : events.readable(line)) + "\n"
            }
        }
        shown = found
        return text.isEmpty || Terminal.output.write(text)
    }
}
