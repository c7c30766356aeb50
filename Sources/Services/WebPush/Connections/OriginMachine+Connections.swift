import PushModel
import PushTime

/// What the connections and the look-ups of a pool report.
extension OriginMachine {
    /// Takes the addresses of a name, or nil if the look-up failed.
    ///
    /// - Parameter fault: Why it failed, if that is known.
    mutating func lookedUp(
        _ number: UInt32, _ addresses: [String]?, because fault: ConnectionFault? = nil, now: MonotonicTime
    ) {
        lookUpsRunning -= 1
        // The look-up may have taken too long, or the pool is ending.
        guard let index = active.first(where: { slots[$0].lookUp?.number == number }) else { return }
        slots[index].lookUp = nil
        let origin = slots[index].origin
        guard let addresses, !addresses.isEmpty else {
            let none = ConnectionFault(.nameNotFound, sentence: "the look-up of \(origin.host) returned no address")
            return connectFailed(index, because: fault ?? none, now: now)
        }
        guard origin == rules.endpoint || check.allows(addresses) else {
            slots[index].barredUntil = now + limits.barred
            return
        }
        slots[index].barredUntil = nil
        lastID &+= 1
        let id = ConnectionID(lastID)
        slots[index].links.append(OriginSlot.Link(id: id, idleSince: now))
        let isHTTP1 = slots[index].http1Until.map { now < $0 } ?? false
        let address = addresses[slots[index].addressTurn % addresses.count]
        actions.append(.connect(id, origin, address: address, isHTTP1: isHTTP1))
    }

    /// Takes the end of an attempt to connect to an origin that does not offer HTTP/2. The next one uses HTTP/1.1.
    mutating func closedWithoutHTTP2(_ id: ConnectionID, _ end: ConnectionEnd, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase == .connecting,
            slots[index].http1Until.map({ now >= $0 }) ?? true
        else { return closed(id, end, now: now) }
        slots[index].http1Until = now + limits.http1
        slots[index].links.remove(at: at)
    }

    mutating func ready(_ id: ConnectionID, limit: Int, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase == .connecting else { return }
        slots[index].links[at].phase = .open
        slots[index].fault = nil
        slots[index].links[at].limit = min(max(0, limit), limits.streams)
        slots[index].links[at].idleSince = now
    }

    mutating func limitChanged(_ id: ConnectionID, to limit: Int) {
        guard let (index, at) = find(id) else { return }
        slots[index].links[at].limit = min(max(0, limit), limits.streams)
    }

    /// Takes a connection that accepts no more deliveries.
    mutating func retired(_ id: ConnectionID) {
        guard let (index, at) = find(id), slots[index].links[at].phase != .gone else { return }
        slots[index].links[at].phase = .closing
    }

    /// Takes the end of a connection. Deliveries that were handed to it since then still come back.
    mutating func closed(_ id: ConnectionID, _ end: ConnectionEnd, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase != .gone else { return }
        let link = slots[index].links[at]
        slots[index].links[at].phase = .gone
        if link.given == 0 { slots[index].links.remove(at: at) }
        if end.kind == .byUs, link.phase == .closing { return }
        if !link.hasAnswered {
            slots[index].http1Until = nil
            // An origin that accepts connections and ends them must not be asked again and again.
            connectFailed(index, because: end.fault, now: now)
        } else if end.kind != .goAway, end.kind != .byUs {
            failed(index, asked: nil, because: end.fault, now: now)
        }
    }

    /// Takes deliveries that ended on a connection.
    mutating func ended(_ reports: [AttemptReport], on id: ConnectionID, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].given >= reports.count else {
            preconditionFailure("connection \(id) of a pool ended \(reports.count) deliveries but was given fewer")
        }
        for report in reports {
            switch report.result {
            case .accepted: answered(link: at, of: index, now: now)
            case .refused(let refusal) where refusal.status < 500: answered(link: at, of: index, now: now)
            case .refused(let refusal):
                noteAnswer(link: at, of: index, now: now)
                failed(index, asked: refusal.retryAfter, now: now)
            case .unknown(.connectionLost), .notProcessed: break
            case .unknown:
                slots[index].window = limits.firstWindow
                failed(index, asked: nil, now: now)
            }
        }
        end(reports)
        slots[index].links[at].given -= reports.count
        guard slots[index].links[at].given == 0 else { return }
        slots[index].links[at].idleSince = now
        if slots[index].links[at].phase == .gone { slots[index].links.remove(at: at) }
    }

    private mutating func answered(link at: Int, of index: Int, now: MonotonicTime) {
        noteAnswer(link: at, of: index, now: now)
        slots[index].health.succeeded()
        if slots[index].health.isOpen { return }
        slots[index].window = min(slots[index].window + 1, limits.streams * limits.connectionsOfOrigin)
    }

    private mutating func noteAnswer(link at: Int, of index: Int, now: MonotonicTime) {
        answered += 1
        slots[index].links[at].hasAnswered = true
        slots[index].progressAt = now
        slots[index].fault = nil
    }

    private mutating func failed(_ index: Int, asked: Int?, because fault: ConnectionFault? = nil, now: MonotonicTime) {
        let wasOpen = slots[index].health.isOpen
        if let fault { slots[index].fault = fault }
        slots[index].health.failed(asked: asked, by: limits.health, now: now, random: random.unit())
        guard slots[index].health.isOpen else { return }
        slots[index].window = limits.firstWindow
        if !wasOpen { announce(index, now: now) }
    }

    mutating func connectFailed(_ index: Int, because fault: ConnectionFault, now: MonotonicTime) {
        let wasOpen = slots[index].health.isOpen
        slots[index].fault = fault
        slots[index].health.connectFailed(by: limits.health, now: now, random: random.unit())
        slots[index].addressTurn &+= 1
        slots[index].window = limits.firstWindow
        if !wasOpen, slots[index].health.isOpen { announce(index, now: now) }
    }

    /// Tells that the breaker of an origin has opened. Origins come from outside, so it does so once in a while for all
    /// that have the same name in the settings.
    private mutating func announce(_ index: Int, now: MonotonicTime) {
        guard let until = slots[index].health.opensUntil, let failing = failing(slots[index]) else { return }
        if let last = announced[failing.name], now < last + limits.announceEvery { return }
        announced[failing.name] = now
        actions.append(.announce(failing, for: until - now))
    }

    /// Returns nil for a host that does not exist below a name with an asterisk: anybody can make up such an endpoint.
    private func failing(_ slot: OriginSlot) -> FailingOrigin? {
        let name = rules.name(of: slot.origin)
        guard let fault = slot.fault, name.hasPrefix("*.") else { return FailingOrigin(name, fault: slot.fault) }
        if fault.code == .nameNotFound { return nil }
        // The host belongs to the address of a device.
        return FailingOrigin(
            name, fault: ConnectionFault(fault.code, sentence: fault.sentence.replacing(slot.origin.host, with: name)))
    }

    /// The origins whose breaker is open or half-open, by their names in the settings. One that nothing was sent to for
    /// long is left out. Of several with one name, it is the last one that was used.
    func failingOrigins(now: MonotonicTime) -> [FailingOrigin] {
        var found: [String: (origin: FailingOrigin, usedAt: MonotonicTime)] = [:]
        for slot in slots where slot.health.isOpen || slot.health.isHalfOpen {
            guard now - slot.usedAt < limits.failingFor, let failing = failing(slot) else { continue }
            if let other = found[failing.name], other.usedAt > slot.usedAt { continue }
            found[failing.name] = (failing, slot.usedAt)
        }
        return found.values.map(\.origin).sorted { $0.name < $1.name }
    }

    private func find(_ id: ConnectionID) -> (slot: Int, link: Int)? {
        for index in active {
            if let at = slots[index].links.firstIndex(where: { $0.id == id }) { return (index, at) }
        }
        return nil
    }
}
