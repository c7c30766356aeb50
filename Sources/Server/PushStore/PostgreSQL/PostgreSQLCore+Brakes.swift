import PushModel
import PushPostgreSQL
import PushTime

/// Changes of brakes, and their events.
extension PostgreSQLCore {
    /// The part in whose log the events are. Its owner publishes them, so that no two nodes publish the same.
    private static let brakesPart = 0

    /// Stores a change of a brake and the row of its event, unless another node was first.
    func decide(_ decision: BrakeDecision, reply: @escaping @Sendable (BrakeVerdict) -> Void) {
        let section = PostgreSQLSection()
        let statement = decision.isOn ? SharedStatements.setBrake : SharedStatements.releaseBrake
        let event = BrakeEvent(of: decision)
        section.call(statement) { [settings, author = shared.author] in
            $0.append(text: decision.app.name)
            $0.append(int8: settings.clock().milliseconds)
            $0.append(int8: decision.generation)
            $0.append(text: author)
            $0.append(text: event.name)
            $0.append(int8Array: event.numbers)
        }
        write(section) { result in
            switch result {
            case .done(let results): reply(results.first?.affectedRows == 1 ? .stored : .overtaken)
            case .refused(let failure): reply(.failed("\(failure)"))
            case .unknown(let reason): reply(.unknown(reason))
            case .notSent(let reason): reply(.failed(reason))
            }
        }
    }

    /// Publishes the events that were read, if this node owns their part.
    ///
    /// A reading from before the part was loaded may have events that the former owner has published. One from before
    /// the end of a flush of this node may have those that the flush has published, and is not used at all.
    func publish(_ events: [BrakeEvent], readAt time: MonotonicTime) {
        guard let part = parts[Self.brakesPart], part.isOpen, part.loadedAt <= time else { return }
        var hasNews = false
        for event in events where shared.publishing.insert(event).inserted {
            hasNews = true
            part.waiting.brakes.append(
                (
                    event,
                    { [weak self] in
                        guard let self else { return }
                        shared.publishing.remove(event)
                        wrote()
                    }
                ))
        }
        if hasNews { flushLane(of: part) }
    }

    /// Returns the events of brakes in the table, in the order of the changes.
    static func brakeEvents(in result: PostgreSQLResult) throws -> [BrakeEvent] {
        try result.rows.compactMap { row in
            guard try row.value(1, as: String.self) == SharedStatements.brakeEventKind,
                let app = AppID(try row.value(0, as: String.self))
            else { return nil }
            return BrakeEvent(
                app, name: try row.value(2), generation: try row.value(4), numbers: try row.value(5))
        }.sorted { $0.app == $1.app ? $0.precedes($1) : $0.app.name < $1.app.name }
    }
}

extension PostgreSQLSection {
    /// Removes the rows of events that the groups of the parts publish.
    func removeBrakes(of entries: [LedgerLane.Entry]) {
        for entry in entries {
            for (event, _) in entry.group.brakes {
                call(SharedStatements.removeBrakeEvent) { parameters in
                    parameters.append(int4: Int32(entry.part.part))
                    parameters.append(int8: entry.part.epoch)
                    parameters.append(text: event.app.name)
                    parameters.append(text: event.name)
                }
            }
        }
    }
}
