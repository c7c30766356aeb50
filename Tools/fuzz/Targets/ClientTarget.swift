import PushTime
import PushWire

@testable import CarillonClient

extension FuzzTarget {
    /// Acks for requests that are under way, among losses of the connection, deadlines and cancellations.
    static let clientAcks = FuzzTarget(
        name: "client-acks",
        seeds: {
            let lines = [
                #"{"id":"m0","status":"accepted","seq":7}"#,
                #"{"id":"m1","status":"duplicate","seq":123456789012345678}"#,
                #"{"id":"m0","status":"accepted","seq":7,"findings":[{"code":"c","path":"p","detail":"d"}]}"#,
                #"{"id":"m2","status":"rejected","reason":"bad_field","detail":"d"}"#,
                #"{"id":"m3","status":"busy","retry_after_ms":20}"#, #"{"id":"m4","status":"too_late"}"#,
                #"{"id":"m4","status":"cancelled","sent":1,"cancelled":2}"#, #"{"id":"m\u0030","status":"busy"}"#,
            ]
            return lines.map { [0, 40] + Array($0.utf8) }
                + [[0, 255] + Array(lines.joined(separator: "\n").utf8), [0, 40, 1, 9, 2, 200, 3, 1, 0, 40]]
        },
        run: { input in
            var walk = AckWalk()
            while !input.isAtEnd {
                switch input.byte() % 5 {
                case 0: walk.receive(input.take(Int(input.byte())))
                case 1: walk.submit(Int(input.byte()))
                case 2: walk.pass(.milliseconds(Int(input.byte()) * 40))
                case 3: walk.lose()
                default: walk.cancel(UInt64(input.byte()))
                }
            }
            walk.finish()
        })

    /// Events, heartbeats and the answers of the replay socket.
    static let clientEvents = FuzzTarget(
        name: "client-events",
        seeds: {
            let event = Array(#"{"v":1,"seq":5,"prev":3,"ts":9,"message_id":"m","counts":{"sent":1}}"#.utf8)
            let beat = Array(#"{"seq":9,"ts":1,"topics":{"delivery/shop/sent":9}}"#.utf8)
            let end = Array(#"{"next":9,"oldest":1}"#.utf8)
            let error = Array(#"{"error":"damaged","detail":"d","next":4}"#.utf8)
            let position = Array(#"{"base":4,"topics":{"a":7}}"#.utf8)
            return [
                [0, UInt8(event.count)] + event, [1, UInt8(beat.count)] + beat, [4, UInt8(position.count)] + position,
                [0, UInt8(event.count)] + event + [2, UInt8(event.count)] + event + [3, 0, UInt8(end.count)] + end,
                [1, UInt8(beat.count)] + beat + [3, 1, UInt8(error.count)] + error,
            ]
        },
        run: { input in
            var walk = EventWalk()
            while !input.isAtEnd {
                switch input.byte() % 6 {
                case 0: walk.publish(input.take(Int(input.byte())))
                case 1: walk.beat(input.take(Int(input.byte())))
                case 2: walk.addToPage(input.take(Int(input.byte())))
                case 3:
                    let kind = input.flag() ? "replay-error/1" : "replay-end/1"
                    walk.endPage(kind, input.take(Int(input.byte())))
                case 4: EventWalk.readPosition(input.take(Int(input.byte())))
                default: walk.disconnect()
                }
            }
        })

    /// Records of the spool, whole and damaged.
    static let clientSpool = FuzzTarget(
        name: "client-spool",
        seeds: {
            let request = EncodedRequest(
                .push, id: "m", app: "shop", envelope: Array(#"{"id":"m"}"#.utf8), payload: [1, 2])
            var bytes: [UInt8] = []
            SpoolRecord.append(request, number: 7, time: WallTime(milliseconds: 1), to: &bytes)
            return [[0] + bytes, [1] + Array(bytes.dropFirst(SpoolRecord.headLength)), [0] + bytes + bytes, [0, 0xff]]
        },
        run: { input in
            let isBody = input.flag()
            var bytes = input.rest()
            if isBody {
                // A right checksum, which random bytes never have.
                let checksum = SpoolRecord.checksum(of: bytes)
                let head = [UInt32(bytes.count), checksum].flatMap { word in
                    (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) }
                }
                bytes = head + bytes
            }
            var offset = 0
            while let (record, end) = SpoolRecord.read(bytes, at: offset) {
                require(end > offset, "a record without bytes")
                var again: [UInt8] = []
                SpoolRecord.append(
                    record.request, number: record.number, time: record.time ?? WallTime(milliseconds: 0), to: &again)
                // Bytes that are not UTF-8 are repaired once, so the second text is compared.
                for place in [0, again.count] {
                    guard let (second, length) = SpoolRecord.read(again + again, at: place) else {
                        fatalError("a record is not found")
                    }
                    require(length == place + again.count, "a record has another length")
                    require(
                        second.number == record.number && second.request.key == record.request.key
                            && (record.time == nil || second.time == record.time), "another record")
                    require(second.request.app == record.request.app, "another app")
                    require(
                        second.request.envelope == record.request.envelope
                            && second.request.payload == record.request.payload, "other frames")
                }
                offset = end
            }
            for place in [-1, bytes.count, Int.max] {
                require(SpoolRecord.read(bytes, at: place) == nil, "a record where there are no bytes")
            }
        })
}

/// A producer's machine whose requests must each end once.
private struct AckWalk {
    var machine: ProducerMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var open: Set<Ticket> = []
    var next: UInt64 = 0

    init() {
        var settings = ProducerSettings()
        settings.window = 8
        settings.maxWaiting = 8
        settings.maxBatch = 3
        machine = ProducerMachine(settings)
        machine.connected(now: now)
        for number in 0..<6 { submit(number) }
    }

    mutating func submit(_ number: Int) {
        next += 1
        let ticket = Ticket(number: next)
        let request = EncodedRequest(
            number % 5 == 4 ? .cancel : .push, id: "m\(number % 10)", app: number % 3 == 0 ? "shop" : "news",
            envelope: Array("{}".utf8))
        if machine.submit(request, ticket: ticket, deadline: now + .seconds(20), now: now) == nil {
            open.insert(ticket)
        }
        send()
    }

    mutating func receive(_ bytes: [UInt8]) {
        let message = unsafe bytes.withUnsafeBytes { unsafe AckMessage(lines: $0) }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let fast = unsafe Array(line).withUnsafeBytes { unsafe AckStatus($0) }
            if let parsed = AckStatus.parsed(Array(line)) { require(fast == parsed, "an ack with two meanings") }
        }
        for status in message.statuses {
            if let (ticket, _) = machine.receive(status, now: now) { end(ticket) }
        }
        send()
    }

    mutating func pass(_ time: Duration) {
        now = now + time
        let (ended, isSilent) = machine.expire(now: now)
        for (ticket, _) in ended { end(ticket) }
        if isSilent { lose() } else { send() }
    }

    mutating func lose() {
        machine.disconnected(problem: "lost")
        require(machine.unacknowledged == 0 && machine.unacknowledgedBytes == 0, "something is under way nowhere")
        machine.connected(now: now)
        send()
    }

    mutating func cancel(_ number: UInt64) {
        if machine.cancel(Ticket(number: number), now: now) != nil { end(Ticket(number: number)) }
        send()
    }

    mutating func finish() {
        for (ticket, _) in machine.end() { end(ticket) }
        require(open.isEmpty && machine.isIdle && machine.waitingBytes == 0, "a request did not end")
    }

    private mutating func end(_ ticket: Ticket) {
        require(open.remove(ticket) != nil, "a request ended twice")
    }

    private mutating func send() {
        while let batch = machine.next(now: now) {
            require(batch.tickets.allSatisfy { open.contains($0) }, "an ended request was sent")
        }
        require(machine.unacknowledged <= 8 && machine.items.count == open.count, "the counts disagree")
    }
}

/// A subscription's machine that must deliver each event of a topic once and in order.
private struct EventWalk {
    var machine = SubscriberMachine(prefix: "delivery/", start: .position(EventPosition()))
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var page: [EventLines] = []
    var last: Int64 = 0

    private func lines(_ bytes: [UInt8]) -> EventLines? {
        guard let lines = EventLines(topic: "delivery/shop/sent", bytes: bytes) else { return nil }
        for line in lines.lines {
            let text = Array(bytes[line.range])
            if let json = try? JSONDocument(text), let number = json.value("seq", in: json.root) {
                require(json.integer(number) == line.number, "an event with two numbers")
            }
            guard let event = CarillonEvent(text, number: line.number, topic: lines.topic) else { continue }
            _ = (event.counts, event.latency, event.detail, event["counts"], event.description)
        }
        return lines
    }

    mutating func publish(_ bytes: [UInt8]) {
        guard let lines = lines(bytes), !machine.isReplaying else { return }
        machine.receive(lines)
        deliver()
    }

    mutating func beat(_ bytes: [UInt8]) {
        guard let heartbeat = Heartbeat(bytes), !machine.isReplaying else { return }
        now = now + .seconds(1)
        machine.receive(heartbeat, now: now)
        deliver()
    }

    mutating func addToPage(_ bytes: [UInt8]) {
        if let lines = lines(bytes) { page.append(lines) }
    }

    mutating func endPage(_ kind: String, _ bytes: [UInt8]) {
        guard let end = ReplayEnd(kind: Array(kind.utf8), bytes) else { return }
        _ = machine.receive(exchange(&page, with: []), end: end)
        deliver()
    }

    mutating func disconnect() { machine.disconnected() }

    private mutating func deliver() {
        for delivery in machine.takeDeliveries() {
            guard case .lines(let lines, let from) = delivery else { continue }
            require(lines.lines.indices.contains(from), "lines without a first one")
            for line in lines.lines[from...] {
                require(line.number > last, "an event is there twice")
                last = line.number
            }
        }
        EventWalk.check(machine.position)
    }

    static func readPosition(_ bytes: [UInt8]) {
        if let position = EventPosition(String(decoding: bytes, as: UTF8.self)) { check(position) }
    }

    private static func check(_ position: EventPosition) {
        require(EventPosition(position.description) == position, "a position changed when it was stored")
    }
}
