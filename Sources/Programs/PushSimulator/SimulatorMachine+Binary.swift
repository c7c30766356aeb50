package import PushLoop

/// The state of one connection to the legacy gateway.
package struct BinaryConnection: ~Copyable {
    /// The number of the connection, counted from 1 over all connections of the simulator.
    package let number: UInt32
    let environment: APNsEnvironment
    let certificate: CertificateIdentity?
    var parser = BinaryParser()
    package internal(set) var frames: UInt64 = 0
    /// Whether an error packet or a fault ended the connection. Later bytes are discarded.
    package internal(set) var isFinished = false
    /// Whether the connection reads everything, but neither accepts nor answers notifications.
    package internal(set) var isSilent = false
}

/// What the transport must do after it received bytes on the legacy gateway. Usually nothing, because accepted
/// notifications are not acknowledged.
package struct BinaryReaction: Equatable, Sendable {
    /// The bytes to write after `delay`, before closing: an error packet or a part of one.
    package var packet: [UInt8] = []
    package var closes = false
    /// The delay in nanoseconds.
    package var delay: Int64 = 0
}

extension SimulatorMachine {
    package func openBinary(
        _ arrival: Arrival, environment: APNsEnvironment, certificate: CertificateIdentity? = nil
    ) -> BinaryConnection {
        BinaryConnection(
            number: arrival.number, environment: environment, certificate: certificate, isSilent: arrival.isSilent)
    }

    /// Processes received bytes, which may be split at any position.
    package mutating func receiveBinary(
        _ bytes: ByteView, on connection: inout BinaryConnection, now: WallTime
    ) -> BinaryReaction {
        var reaction = BinaryReaction()
        if connection.isFinished || connection.isSilent || bytes.isEmpty { return reaction }
        var parser = BinaryParser()
        swap(&parser, &connection.parser)
        do {
            try parser.parse(bytes) { frame in
                receive(frame, on: &connection, now: now, reaction: &reaction)
                return !connection.isFinished && !connection.isSilent
            }
        } catch {
            reject(error, on: &connection, now: now, reaction: &reaction)
        }
        swap(&parser, &connection.parser)
        return reaction
    }

    /// Returns what the feedback service sends to a new client, and clears the list.
    package mutating func takeFeedback(_ arrival: Arrival) -> [UInt8] {
        if arrival.isSilent || arrival.closes { return [] }
        let bytes = feedback.take()
        return arrival.isCutShort ? Array(bytes.dropLast(3)) : bytes
    }

    private mutating func receive(
        _ frame: BinaryFrame, on connection: inout BinaryConnection, now: WallTime, reaction: inout BinaryReaction
    ) {
        connection.frames += 1
        var status = BinaryStatus.noError
        let token = TokenBytes(frame.token) ?? TokenBytes()
        if let certificate = connection.certificate, !certificate.environments.contains(connection.environment) {
            status = .invalidToken
        } else {
            status = judge(token, on: connection)
        }
        var decision = FaultDecision()
        if !faults.isEmpty {
            decision = faults.decide(
                FaultFacts(
                    moment: .binary, token: token, connection: connection.number, request: connection.frames))
        }
        reaction.delay = max(reaction.delay, decision.delay)
        var flags: Record.Flags = decision.effect == nil ? [] : .isFault
        let identifier = frame.identifier ?? 0
        switch decision.effect {
        case .packet(let code):
            // A shutdown packet names the last accepted notification, which is this one.
            if code != BinaryStatus.shutdown.rawValue { status = BinaryStatus(rawValue: code) ?? .unknown }
            end(&connection, status: code, identifier: identifier, reaction: &reaction)
        case .halfFrame:
            let packet = Self.errorPacket(status: BinaryStatus.processingError.rawValue, identifier: identifier)
            reaction.packet = Array(packet.prefix(3))
            reaction.closes = true
            connection.isFinished = true
            status = .processingError
        case .close:
            reaction.closes = true
            connection.isFinished = true
            if decision.isProcessed == false { flags.insert(.isUnprocessed) }
        case .silence:
            connection.isSilent = true
            if decision.isProcessed == false { flags.insert(.isUnprocessed) }
        default:
            if status != .noError {
                end(&connection, status: status.rawValue, identifier: identifier, reaction: &reaction)
            }
        }
        record(frame, token: token, status: status, flags: flags, on: connection, now: now)
    }

    /// Judges a token. An unregistered token is accepted silently and reported by the feedback service.
    private mutating func judge(_ token: TokenBytes, on connection: borrowing BinaryConnection) -> BinaryStatus {
        let topic = connection.certificate.map { Array($0.userID.utf8) }
        let refusal =
            if let topic {
                ByteView.lending(topic) {
                    devices.refusal(of: token, topic: $0, baseLength: $0.count, environment: connection.environment)
                }
            } else {
                devices.refusal(of: token, topic: nil, baseLength: 0, environment: connection.environment)
            }
        guard let refusal else { return .noError }
        guard refusal.reason.status == 410 else { return .invalidToken }
        feedback.add(token.bytes, at: refusal.since)
        return .noError
    }

    /// Ends the connection with an error packet.
    private func end(
        _ connection: inout BinaryConnection, status: UInt8, identifier: UInt32, reaction: inout BinaryReaction
    ) {
        reaction.packet = Self.errorPacket(status: status, identifier: identifier)
        reaction.closes = true
        connection.isFinished = true
    }

    private mutating func reject(
        _ fault: BinaryFault, on connection: inout BinaryConnection, now: WallTime, reaction: inout BinaryReaction
    ) {
        connection.frames += 1
        end(&connection, status: fault.status.rawValue, identifier: fault.identifier, reaction: &reaction)
        var record = Record()
        record.at = now.milliseconds
        record.service = .binary
        record.connection = connection.number
        record.stream = fault.identifier
        record.status = UInt16(fault.status.rawValue)
        ByteView.lending([]) { _ = log.append(record, token: $0, label: nil, payload: $0) }
    }

    private static func errorPacket(status: UInt8, identifier: UInt32) -> [UInt8] {
        [8, status] + [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: identifier >> shift) }
    }

    private mutating func record(
        _ frame: BinaryFrame, token: TokenBytes, status: BinaryStatus, flags: Record.Flags,
        on connection: borrowing BinaryConnection, now: WallTime
    ) {
        var record = Record()
        record.at = now.milliseconds
        record.service = .binary
        record.connection = connection.number
        record.stream = frame.identifier ?? 0
        record.priority = frame.priority
        // A record marks an accepted notification with 200. The statuses of error packets are kept as they are.
        record.status = status == .noError ? 200 : UInt16(status.rawValue)
        record.flags = flags
        if let expiration = frame.expiration {
            record.expiration = expiration
            record.flags.insert(.hasExpiration)
        }
        var warnings: Warnings = []
        if let facts = JSONScanner.scan(frame.payload), facts.isObject {
            if !facts.hasAPS { warnings.insert(facts.hasMistypedAPS ? .apsNotAnObject : .apsMissing) }
        } else {
            warnings.insert(.payloadNotAnObject)
        }
        if let expiration = frame.expiration, expiration > 0, Int64(expiration) < now.seconds {
            warnings.insert(.expirationPassed)
        }
        record.warnings = warnings.rawValue
        record.setToken(token)
        record.payloadLength = UInt32(clamping: frame.payload.count)
        if let certificate = connection.certificate {
            record.topic = ByteView.lending(Array(certificate.userID.utf8)) { topics.topic($0).number }
        }
        _ = token.withBytes { log.append(record, token: $0, label: nil, payload: frame.payload) }
    }
}
