import PushModel
import PushTime

/// What the connections and the look-ups of a pool report.
extension OriginMachine {
    /// Takes the addresses of a name, or nil if the look-up failed.
    mutating func lookedUp(_ number: UInt32, _ addresses: [String]?, now: MonotonicTime) {
        lookUpsRunning -= 1
        // The look-up may have taken too long, or the pool is ending.
        guard let index = active.first(where: { slots[$0].lookUp?.number == number }) else { return }
        slots[index].lookUp = nil
        guard let addresses, !addresses.isEmpty else { return connectFailed(index, now: now) }
        let origin = slots[index].origin
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
    mutating func closedWithoutHTTP2(_ id: ConnectionID, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase == .connecting,
            slots[index].http1Until.map({ now >= $0 }) ?? true
        else { return closed(id, .broken, now: now) }
        slots[index].http1Until = now + limits.http1
        slots[index].links.remove(at: at)
    }

    mutating func ready(_ id: ConnectionID, limit: Int, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase == .connecting else { return }
        slots[index].links[at].phase = .open
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
    mutating func closed(_ id: ConnectionID, _ kind: ConnectionEnd.Kind, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].phase != .gone else { return }
        let link = slots[index].links[at]
        slots[index].links[at].phase = .gone
        if link.given == 0 { slots[index].links.remove(at: at) }
        if kind == .byUs, link.phase == .closing { return }
        if !link.hasAnswered {
            slots[index].http1Until = nil
            // An origin that accepts connections and ends them must not be asked again and again.
            connectFailed(index, now: now)
        } else if kind != .goAway, kind != .byUs {
            failed(index, asked: nil, now: now)
        }
    }

    /// Takes deliveries that ended on a connection.
    mutating func ended(_ reports: [AttemptReport], on id: ConnectionID, now: MonotonicTime) {
        guard let (index, at) = find(id), slots[index].links[at].given >= reports.count else {
            preconditionFailure("connection \(id) of a pool ended \(reports.count) deliveries but was given fewer")
        }
        var hasReset = false
        for report in reports {
            switch report.result {
            case .accepted: answered(link: at, of: index, now: now)
            case .refused(let refusal) where refusal.status < 500: answered(link: at, of: index, now: now)
            case .refused(let refusal):
                noteAnswer(link: at, of: index, now: now)
                failed(index, asked: refusal.retryAfter, now: now)
            case .unknown(.connectionLost), .notProcessed: break
            case .unknown(let cause):
                hasReset = hasReset || cause == .reset
                slots[index].window = limits.firstWindow
                failed(index, asked: nil, now: now)
            }
        }
        end(hasReset ? reports.map(Self.withoutReset) : reports)
        slots[index].links[at].given -= reports.count
        guard slots[index].links[at].given == 0 else { return }
        slots[index].links[at].idleSince = now
        if slots[index].links[at].phase == .gone { slots[index].links.remove(at: at) }
    }

    /// A gateway takes a reset for a failure of the whole push service. Here it is one of a single origin, which has its
    /// own breaker.
    private static func withoutReset(_ report: AttemptReport) -> AttemptReport {
        guard report.result == .unknown(.reset) else { return report }
        return AttemptReport(of: report.delivery, .unknown(.serverError), latency: report.latency)
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
    }

    private mutating func failed(_ index: Int, asked: Int?, now: MonotonicTime) {
        slots[index].health.failed(asked: asked, by: limits.health, now: now, random: random.unit())
        if slots[index].health.isOpen { slots[index].window = limits.firstWindow }
    }

    mutating func connectFailed(_ index: Int, now: MonotonicTime) {
        slots[index].health.connectFailed(by: limits.health, now: now, random: random.unit())
        slots[index].addressTurn &+= 1
        slots[index].window = limits.firstWindow
    }

    private func find(_ id: ConnectionID) -> (slot: Int, link: Int)? {
        for index in active {
            if let at = slots[index].links.firstIndex(where: { $0.id == id }) { return (index, at) }
        }
        return nil
    }
}
