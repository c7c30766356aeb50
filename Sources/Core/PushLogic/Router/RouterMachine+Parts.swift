package import PushModel

/// Parts of the ledger come and go in a cluster: another node carries out a part that was closed here.
///
/// What waits in a closed part is forgotten; its next owner reads it from the store. What is at a connection ends as
/// usual, and its outcome is recorded here.
extension RouterMachine {
    /// Takes the messages that wait in a part.
    package mutating func opened(_ part: PartitionID, _ backlog: LedgerBacklog) { self.backlog(backlog) }

    /// Stops everything of a part. At the end of the tick in which nothing of it is in memory any more,
    /// ``RouterActions/closed`` contains it.
    ///
    /// All closings of a tick are carried out together, with one look at everything that waits.
    package mutating func closed(_ part: PartitionID) { parts.new.insert(part.number) }

    /// Carries out the closings of this tick, and ends those of which nothing is left.
    mutating func closeParts() {
        if !parts.new.isEmpty { close(parts.takeNew()) }
        var open: [RouterParts.Closing] = []
        for var closing in parts.closing {
            closing.left.removeAll { !messages.contains($0) }
            if closing.left.isEmpty { actions.closed.append(closing.part) } else { open.append(closing) }
        }
        parts.closing = open
    }

    private mutating func close(_ numbers: Set<Int>) {
        forgetWaiting(in: numbers)
        var ending: [MessageHandle] = []
        var stopping: [MessageHandle] = []
        var held: [Int: [MessageHandle]] = [:]
        for message in messages.handles(where: { numbers.contains(EventNumber.part(of: $0.accepted.seq)) }) {
            held[EventNumber.part(of: messages[message].accepted.seq), default: []].append(message)
            // A cancelled message ends by itself.
            if cancels.stopped[message] == nil { stopping.append(message) }
        }
        if let first = expiry.messages.first, numbers.contains(EventNumber.part(of: messages[first].accepted.seq)) {
            expiry.scan = nil
        }
        if !expiry.messages.isEmpty {
            var isMeant: Set<MessageHandle> = []
            for message in stopping { isMeant.insert(message) }
            ending = expiry.messages.removeAll { isMeant.contains($0) }
            for message in ending { isMeant.remove(message) }
            stopping = stopping.filter { isMeant.contains($0) }
        }
        for message in ending { forget(message) }
        var asked: [AppIndex: UInt64] = [:]
        for message in stopping {
            cancels.stopped[message] = .leaving(isWhole: messages[message].isAllDispatched)
            guard messages[message].open > 0 else { continue }
            messages[message].accepted.message.withdraw()
            let app = messages[message].lane.app
            if apps[app].hasGate { askToReturn(app, &asked) }
        }
        stop(stopping)
        // What has no delivery under way and waits for no answer is forgotten at once.
        for message in stopping where messages.contains(message) { settle(message) }
        for number in numbers.sorted() {
            guard let part = PartitionID(number) else { continue }
            parts.closing.append(RouterParts.Closing(part: part, left: held[number] ?? []))
        }
    }

    /// Forgets the messages of parts that are not in memory.
    private mutating func forgetWaiting(in numbers: Set<Int>) {
        counts.queued -= activities.unpark { numbers.contains(EventNumber.part(of: $0.seq)) }.count
        activities.forget(parts: numbers)
        for lane in lanes.all {
            let isMeant = { (seq: UInt64) in numbers.contains(EventNumber.part(of: seq)) }
            if !lanes[lane].stale.isEmpty {
                let stale = lanes[lane].stale.filter(isMeant)
                lanes[lane].stale.subtract(stale)
                cancels.staleCount -= stale.count
            }
            if !lanes[lane].spilled.isEmpty { counts.queued -= lanes[lane].spilled.removeAll(where: isMeant) }
            // The answer may still contain messages that are being read. By then the part may be open again, with the
            // same messages in its backlog.
            for seq in lanes[lane].loading where isMeant(seq) && lanes[lane].overtaken.insert(seq).inserted {
                counts.queued -= 1
            }
            for number in numbers { lanes[lane].waits.removeAll(of: number) }
            apps[lane.app].isDirty = true
        }
        // The messages in memory may still end here.
        let held = messages.handles { numbers.contains(EventNumber.part(of: $0.accepted.seq)) }
        for message in held {
            let (lane, begin) = (messages[message].lane, messages[message].begin)
            lanes[lane].waits.add(begin, of: messages[message].accepted.seq)
        }
    }
}
