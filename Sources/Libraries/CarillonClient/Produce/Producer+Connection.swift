import PushLoop
import PushTransport

/// The connection to one of the endpoints.
extension Producer {
    /// Connects if there is no connection and no attempt. The first request starts the first attempt.
    func start() {
        guard connection == nil, retry == nil, !isClosed else { return }
        do throws(ZMQError) {
            let made = try ClientConnection(
                .dealer, to: endpoints.endpoint, usesIPv6: endpoints.usesIPv6, in: context, on: loop,
                keys: settings.keys
            ) { [unowned self] change in changed(change) }
            listen(to: made.socket)
            connection = made
        } catch {
            lost("\(endpoints.endpoint): \(error.message)")
        }
    }

    private func listen(to socket: ZMQSocket) {
        socket.onMessage = { [unowned self] message in
            let acks = AckMessage(message)
            receive(acks)
        }
        socket.onMalformed = { [unowned self] _, _ in tally.malformed += 1 }
        socket.onWritable = { [unowned self] in
            isBlocked = false
            requestFlush()
        }
    }

    private func changed(_ change: ClientConnection.Change) {
        switch change {
        case .connected:
            endpoints.connected()
            isBlocked = false
            machine.connected(now: loop.now)
            settings.log(.info, "connected", ["endpoint": endpoints.endpoint])
            continueSpool()
            requestFlush()
        case .lost(let reason): lost(reason)
        }
    }

    func lost(_ reason: String) {
        connection?.close()
        connection = nil
        machine.disconnected(problem: reason)
        guard !isClosed else { return }
        let delay = endpoints.failed(chance: Double.random(in: 0...1))
        settings.log(.warning, "connection lost", ["reason": reason, "next": endpoints.endpoint])
        retry = loop.schedule(after: delay) { [weak self] in
            self?.assumeIsolated {
                $0.retry = nil
                $0.start()
            }
        }
        armTimer()
    }
}
