/// The internal names of devices, messages and deliveries: keyed hashes. The key is created once for a data directory
/// and stays in it, so that the names are the same after every restart and have no meaning elsewhere.
package struct Identities: Sendable {
    private let deviceKey: (UInt64, UInt64)
    private let messageKey: (UInt64, UInt64)

    /// - Parameter secret: 32 random bytes.
    package init?(secret: [UInt8]) {
        guard secret.count == 32 else { return nil }
        let words = (0..<4).map { index in
            secret[(8 * index)..<(8 * index + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        deviceKey = (words[0], words[1])
        messageKey = (words[2], words[3])
    }

    /// The bytes from which this was made.
    package var secret: [UInt8] {
        [deviceKey.0, deviceKey.1, messageKey.0, messageKey.1].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        }
    }

    package func device(of app: AppID, token: Address) -> DeviceID {
        var hash = SipHash(key: deviceKey, isWide: true)
        hash.add(app.name)
        token.hash(into: &hash)
        let words = hash.hash128()
        return DeviceID(high: words.0, low: words.1)
    }

    package func message(of app: AppID, id: MessageID) -> MessageFingerprint {
        var hash = SipHash(key: messageKey)
        hash.add(app.name)
        hash.add(id.text)
        return MessageFingerprint(hash.hash64())
    }

    package func delivery(of message: MessageFingerprint, to device: DeviceID) -> DeliveryFingerprint {
        var hash = SipHash(key: messageKey)
        hash.add(message.value)
        hash.add(device.high)
        hash.add(device.low)
        return DeliveryFingerprint(hash.hash64())
    }

    /// Returns a hash of what two requests with the same id must have in common: payload and options except the
    /// traceparent.
    package func content(of message: Message) -> UInt64 {
        var hash = SipHash(key: messageKey)
        hash.add(
            UInt64(message.type.number) << 16 | UInt64(message.priority.rawValue) << 8
                | (message.onUnknown == .resend ? 1 : 0))
        hash.add(UInt64(bitPattern: message.expiry.expiresAt ?? -1))
        if let turn = message.turn {
            turn.hash(into: &hash)
        } else {
            hash.add(UInt64(bitPattern: message.notBefore?.value ?? -1))
        }
        hash.add(message.collapseID?.text ?? "")
        if message.activity?.isStamped == true {
            // The time of the payload is that of the acceptance, and not the producer's.
            let (front, rest) = ActivityTimestamp.others(in: message.payload)
            hash.add(Array(front))
            hash.add(Array(rest))
        } else {
            hash.add(message.payload)
        }
        message.wording?.hash(into: &hash)
        for preferred in message.preferred {
            hash.add(UInt64(preferred.kind.number))
            hash.add(preferred.app.name)
        }
        return hash.hash64()
    }

    /// Returns a hash of the audience of a message. Each turn of a local time has another one.
    package func audience(of audience: Audience, for message: Message, as fingerprint: MessageFingerprint) -> UInt64 {
        let audience = self.audience(of: audience, app: message.app, message: fingerprint)
        guard message.turn != nil, let time = message.notBefore else { return audience }
        var hash = SipHash(key: messageKey)
        hash.add(audience)
        hash.add(UInt64(bitPattern: time.value))
        return hash.hash64()
    }

    /// Returns a hash of the audience that does not depend on the order of the names. For a single device it is the
    /// fingerprint of its delivery, so that one stored value serves as both.
    package func audience(of audience: Audience, app: AppID, message: MessageFingerprint) -> UInt64 {
        switch audience {
        case .tokens(let tokens):
            if tokens.count == 1 { return delivery(of: message, to: device(of: app, token: tokens[0])).value }
            return tokens.reduce(1) { sum, token in
                var hash = SipHash(key: messageKey)
                token.hash(into: &hash)
                return sum &+ hash.hash64()
            }
        case .devices(let devices):
            if devices.count == 1 { return delivery(of: message, to: devices[0]).value }
            return devices.reduce(2) { $0 &+ delivery(of: message, to: $1).value }
        case .users(let users): return users.reduce(3) { $0 &+ hash($1) }
        case .tags(let expression): return hash(expression) &+ 4
        case .everyone: return 5
        case .activities(let names): return names.reduce(6) { $0 &+ hash($1) }
        }
    }

    /// Returns a hash of the user and the apps of an erasure.
    package func erasure(_ erasure: UserErasure) -> UInt64 {
        var hash = SipHash(key: messageKey)
        hash.add(erasure.user)
        for app in erasure.apps?.map(\.name).sorted() ?? [""] { hash.add(app) }
        return hash.hash64()
    }

    /// Returns a hash of a Live Activity of an app.
    package func activity(of app: AppID, name: String) -> UInt64 {
        var hash = SipHash(key: deviceKey)
        hash.add(app.name)
        hash.add(name)
        return hash.hash64()
    }

    private func hash(_ expression: TagExpression) -> UInt64 {
        var hash = SipHash(key: messageKey)
        switch expression {
        case .tag(let tag):
            hash.add(1)
            hash.add(tag)
        case .all(let parts):
            hash.add(2)
            hash.add(parts.reduce(0) { $0 &+ self.hash($1) })
        case .any(let parts):
            hash.add(3)
            hash.add(parts.reduce(0) { $0 &+ self.hash($1) })
        case .not(let part):
            hash.add(4)
            hash.add(self.hash(part))
        }
        return hash.hash64()
    }

    private func hash(_ text: String) -> UInt64 {
        var hash = SipHash(key: messageKey)
        hash.add(text)
        return hash.hash64()
    }
}

/// The pair (app, message id) as a hash of 64 bits.
package struct MessageFingerprint: Hashable, Sendable {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }
}

/// The triple (app, message id, device) as a hash of 64 bits: the key of deduplication. Beside ten million stored
/// fingerprints, a new one collides about once in 10^12 times.
package struct DeliveryFingerprint: Hashable, Sendable {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }
}
