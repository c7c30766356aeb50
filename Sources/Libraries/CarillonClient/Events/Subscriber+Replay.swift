import PushLoop
import PushTransport
import PushWire

/// The requests for events of the past.
extension Subscriber {
    /// The events of one page of a replay, at most.
    private static let pageEvents: Int64 = 1_000
    /// The bytes of one page, at most. More means that the peer is not Carillon.
    private static let maxPageBytes = 64 << 20
    /// The largest number within a part.
    private static let beyondAll: Int64 = 1 << 48 - 1
    private static let replayTimeout = Duration.seconds(5)

    func askReplay() {
        guard replayTimer == nil, !isClosed else { return }
        page = []
        pageBytes = 0
        startReplayTimer(after: Self.replayTimeout)
        if let replay, replay.isConnected { return sendReplay(on: replay) }
        replay?.close()
        replay = nil
        do throws(ZMQError) {
            let made = try ClientConnection(
                .dealer, to: replayEndpoints.endpoint, usesIPv6: replayEndpoints.usesIPv6, in: context, on: loop,
                keys: settings.keys
            ) { [unowned self] change in replayChanged(change) }
            replay = made
            made.socket.onMessage = { [unowned self] message in
                let frames = (0..<min(message.count, 3)).map { message.copied($0) }
                receive(frames)
            }
        } catch {
            failReplay(because: "\(error.message)")
        }
    }

    private func replayChanged(_ change: ClientConnection.Change) {
        switch change {
        case .connected:
            replayEndpoints.connected()
            if let replay { sendReplay(on: replay) }
        case .lost(let reason): failReplay(reason)
        }
    }

    private func sendReplay(on connection: ClientConnection) {
        var json = JSONWriter()
        json.beginObject()
        switch machine.request {
        case .part(let part):
            json.member("since", value: machine.since)
            if part > 0 { json.member("part", value: Int64(part)) }
            json.member("prefix", value: machine.prefix)
            json.member("limit", value: Self.pageEvents)
        case .heads, nil:
            // No part has such numbers, so the answer has the newest ones and no event.
            json.key(plain: "since")
            json.object { list in
                for part in 0..<EventPosition.maxParts {
                    list.key("\(part)")
                    list.integer(Self.beyondAll)
                }
            }
            json.member("limit", value: Int64(1))
        }
        json.endObject()
        let bytes = json.bytes
        let result = connection.socket.send { outbox in
            outbox.add("replay/1")
            outbox.add(bytes)
        }
        if case .sent = result { return }
        failReplay(because: "cannot send")
    }

    private func receive(_ frames: [[UInt8]]) {
        guard !isClosed, replayTimer != nil, machine.isReplaying else { return }
        if frames.count == 3, frames[0] == Array("event/1".utf8) {
            pageBytes += frames[2].count + 256
            guard pageBytes <= Self.maxPageBytes else { return failReplay(because: "an endless answer") }
            let topic = String(decoding: frames[1], as: UTF8.self)
            if let lines = EventLines(topic: topic, bytes: frames[2]) { page.append(lines) }
            return startReplayTimer(after: Self.replayTimeout)
        }
        guard frames.count == 2, let end = ReplayEnd(kind: frames[0], frames[1]) else {
            return failReplay(because: "not an answer")
        }
        if case .busy(let pause) = end {
            closeReplay()
            settings.log(.debug, "replay busy", ["retry": "\(pause)"])
            return startReplayTimer(after: pause)
        }
        stopReplayTimer()
        guard machine.receive(exchange(&page, with: []), end: end) else {
            return failReplay(because: "events are missing in the answer")
        }
        replayEndpoints.succeeded()
        if !machine.isReplaying { closeReplay() }
        step()
    }

    private func failReplay(because reason: String) {
        failReplay("\(replayEndpoints.endpoint): \(reason)")
    }

    /// Tries again later, at the next endpoint. The base has not moved, so the same page is asked for.
    private func failReplay(_ reason: String) {
        closeReplay()
        guard !isClosed else { return }
        settings.log(.warning, "replay failed", ["reason": reason])
        startReplayTimer(after: replayEndpoints.failed(chance: Double.random(in: 0...1)))
    }

    private func startReplayTimer(after delay: Duration) {
        stopReplayTimer()
        replayTimer = loop.schedule(after: delay) { [unowned self] in
            replayTimer = nil
            guard replay == nil else { return failReplay(because: "no answer") }
            step()
        }
    }

    private func stopReplayTimer() {
        if let timer = replayTimer.take() { loop.cancel(timer) }
    }

    func closeReplay() {
        stopReplayTimer()
        replay?.close()
        replay = nil
        page = []
    }
}
