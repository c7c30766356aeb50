package import PushModel
import PushPostgreSQL
import PushTime

/// Events that are rows until the owner of one part publishes them.
extension PostgreSQLCore {
    /// The part in whose log the events are. Its owner publishes them, so that no two nodes publish the same.
    private static let sharedPart = 0

    /// Publishes the events that were read, if this node owns their part.
    ///
    /// A reading from before the part was loaded may have events that the former owner has published. One from before
    /// the end of a flush of this node may have those that the flush has published, and is not used at all.
    func publish(_ events: [SharedEvent], readAt time: MonotonicTime) {
        guard let part = parts[Self.sharedPart], part.isOpen, part.loadedAt <= time else { return }
        var hasNews = false
        for event in events where shared.publishing.insert(event).inserted {
            hasNews = true
            part.waiting.shared.append(
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

    /// Returns the events in the table: those of brakes in the order of the changes, and those of operators by time.
    static func sharedEvents(in result: PostgreSQLResult) throws -> [SharedEvent] {
        var brakes: [BrakeEvent] = []
        var operations: [(time: Int64, event: OperatorEvent)] = []
        for row in result.rows {
            let app = try row.value(0, as: String.self)
            switch try row.value(1, as: String.self) {
            case SharedStatements.brakeEventKind:
                guard let app = AppID(app),
                    let event = BrakeEvent(
                        app, name: try row.value(2), generation: try row.value(4), numbers: try row.value(5))
                else { continue }
                brakes.append(event)
            case SharedStatements.operatorEventKind:
                let event = OperatorEvent(
                    app, name: try row.value(2), numbers: try row.value(5), text: try row.value(6))
                if let event { operations.append((try row.value(3), event)) }
            default: continue
            }
        }
        brakes.sort { $0.app == $1.app ? $0.precedes($1) : $0.app.name < $1.app.name }
        operations.sort { $0.time < $1.time }
        return brakes.map { .brake($0) } + operations.map { .operation($0.event) }
    }

    /// The number of events of operators in the table, whether this version understands them or not.
    static func operations(in result: PostgreSQLResult) throws -> Int {
        try result.rows.reduce(0) { count, row in
            try count + (row.value(1, as: String.self) == SharedStatements.operatorEventKind ? 1 : 0)
        }
    }

    /// Adds the rows of events of operators, in their order.
    func share(_ events: [OperatorEvent], reply: @escaping @Sendable (LedgerFault?) -> Void) {
        let section = PostgreSQLSection()
        let time = settings.clock().milliseconds
        for (place, event) in events.enumerated() {
            section.call(SharedStatements.addOperatorEvent) { parameters in
                parameters.append(text: event.app?.name ?? "")
                parameters.append(text: event.name)
                parameters.append(int8: time + Int64(place))
                parameters.append(int8Array: event.numbers)
                parameters.append(text: event.text)
            }
        }
        write(section) { [published] result in
            switch result {
            case .done:
                published.withLock { $0.waitingOperations += events.count }
                reply(nil)
            case .refused(let failure): reply(LedgerFault("\(failure)"))
            case .unknown(let reason), .notSent(let reason): reply(LedgerFault(reason))
            }
        }
    }
}

extension PostgreSQLLedger {
    /// Hands events of operators to the owner of a part, by names of their own: each is published once. Returns when they
    /// are durable.
    package func share(_ events: [(name: String, draft: EventDraft)]) async -> LedgerFault? {
        let events = events.map { OperatorEvent($0.draft, named: $0.name) }
        return await withCheckedContinuation { continuation in
            let isTaken = order { $0.share(events) { continuation.resume(returning: $0) } }
            if !isTaken { continuation.resume(returning: LedgerFault("the ledger is closed")) }
        }
    }
}

extension PostgreSQLSection {
    /// Removes the rows of events that the groups of the parts publish.
    func removeShared(of entries: [LedgerLane.Entry]) {
        for entry in entries {
            for (event, _) in entry.group.shared {
                let (app, kind, name) =
                    switch event {
                    case .brake(let event): (event.app.name, SharedStatements.brakeEventKind, event.name)
                    case .operation(let event):
                        (event.app?.name ?? "", SharedStatements.operatorEventKind, event.name)
                    }
                call(SharedStatements.removeEvent) { parameters in
                    parameters.append(int4: Int32(entry.part.part))
                    parameters.append(int8: entry.part.epoch)
                    parameters.append(text: app)
                    parameters.append(text: kind)
                    parameters.append(text: name)
                }
            }
        }
    }
}
