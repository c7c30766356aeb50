import JSON5
import PushLoop

extension SimulatorMachine {
    private static let sendPath: StaticString = "/4/broadcasts/apps/"
    private static let managePath: StaticString = "/1/apps/"

    private enum Operation {
        case create, read, delete, list, send
    }

    /// Handles a request that is not for a device: broadcasts, their channels, and unknown paths.
    mutating func receiveElsewhere(
        _ fields: RequestFields, _ body: ByteView, _ stream: Int32, _ connection: inout ProviderConnection,
        _ now: WallTime
    ) -> Reaction {
        let path = fields.path
        if let path, connection.services != .management, path.equals("/3/device") {
            return receiveDevice(
                fields, path.prefix(0), topic: fields.topic, body, stream, &connection, now)
        }
        var record = Record()
        let isBroadcast = path.map { $0.hasPrefix(Self.sendPath) || $0.hasPrefix(Self.managePath) } ?? false
        let id = isBroadcast ? fields.requestID : fields.messageID
        var reaction: Reaction
        if let own = id.flatMap({ MessageID($0) }) {
            reaction = Reaction(id: own)
            record.flags.insert(.hasOwnID)
        } else {
            reaction = Reaction(id: MessageID.random(&random))
        }
        reaction.isRequestID = isBroadcast
        record.service = path?.hasPrefix(Self.sendPath) == true ? .broadcast : .channels
        record.priority = fields.priority.map { DeviceRequest.priority($0) } ?? 0
        if let seconds = fields.expiration?.decimal() {
            record.expiration = UInt32(clamping: seconds)
            record.flags.insert(.hasExpiration)
        }
        if fields.pushType.flatMap({ PushType(named: $0) }) == .liveactivity { record.pushType = .liveactivity }
        let bundle = path.flatMap { Self.bundle(in: $0) }
        if let bundle, !bundle.isEmpty { record.topic = topics.topic(bundle).number }

        var warnings: Warnings = []
        reaction.reason = judge(fields, path, id, body, &warnings, &reaction, &connection, now)
        if reaction.reason != .none {
            reaction.body = []
            reaction.channelID = []
        }
        record.warnings = warnings.rawValue
        finish(
            &reaction, &record, TokenBytes(), topic: bundle, label: fields.channelID, body, stream, &connection, now)
        return reaction
    }

    private static func bundle(in path: ByteView) -> ByteView? {
        let rest: ByteView
        if path.hasPrefix(sendPath) {
            rest = path.dropFirst(sendPath.utf8CodeUnitCount)
        } else if path.hasPrefix(managePath) {
            rest = path.dropFirst(managePath.utf8CodeUnitCount)
        } else {
            return nil
        }
        return rest.prefix(rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.count)
    }

    /// Returns the operation for a path and method, or why there is none.
    private static func operation(
        _ path: ByteView, _ bundle: ByteView, _ method: ByteView?, _ services: ProviderConnection.Services
    ) -> Result<Operation, OperationError> {
        guard !bundle.isEmpty, let method else { return .failure(.path) }
        if path.hasPrefix(sendPath) {
            guard services != .management, path.count == sendPath.utf8CodeUnitCount + bundle.count else {
                return .failure(.path)
            }
            return method.equals("POST") ? .success(.send) : .failure(.method)
        }
        let rest = path.dropFirst(managePath.utf8CodeUnitCount + bundle.count)
        guard services != .sending else { return .failure(.path) }
        if rest.equals("/all-channels") { return method.equals("GET") ? .success(.list) : .failure(.method) }
        guard rest.equals("/channels") else { return .failure(.path) }
        if method.equals("POST") { return .success(.create) }
        if method.equals("GET") { return .success(.read) }
        return method.equals("DELETE") ? .success(.delete) : .failure(.method)
    }

    private enum OperationError: Error {
        case path, method
    }

    private mutating func judge(
        _ fields: RequestFields, _ path: ByteView?, _ id: ByteView?, _ body: ByteView,
        _ warnings: inout Warnings, _ reaction: inout Reaction, _ connection: inout ProviderConnection, _ now: WallTime
    ) -> Reason {
        guard let path, let bundle = Self.bundle(in: path) else { return .badPath }
        let operation: Operation
        switch Self.operation(path, bundle, fields.method, connection.services) {
        case .success(let known): operation = known
        case .failure(.path): return .badPath
        case .failure(.method): return .methodNotAllowed
        }
        if fields.hasRepeated { return .badRequestParams }
        if let id, MessageID(id) == nil { return .badMessageID }
        let authorization = authorize(fields, &connection, &reaction, now)
        if authorization != .none { return authorization }
        if let certificate = connection.certificate {
            if !certificate.allows(bundle) { return .topicMismatch }
        } else if !keys.allows(bundle, baseLength: bundle.count, key: connection.tokens.key) {
            return .topicDisallowed
        }
        if let apps = settings.broadcastApps,
            !apps.contains(where: { ByteView.lending(Array($0.utf8)) { $0.equals(bundle) } })
        {
            return .featureNotEnabled
        }
        switch operation {
        case .create: return create(bundle, body, &reaction, connection.environment)
        case .list:
            var text = JSONText()
            let ids = channels.ids(bundle, connection.environment)
            text.object { $0.array("channels") { list in for id in ids { list.string(bytes: id) } } }
            reaction.body = text.bytes
            return .none
        case .read, .delete, .send: break
        }
        guard let channelID = fields.channelID, !channelID.isEmpty else { return .missingChannelID }
        guard Base64.decode(channelID) != nil else { return .badChannelID }
        guard let channel = channels.channel(channelID, bundle, connection.environment) else {
            return .channelNotRegistered
        }
        switch operation {
        case .read:
            var text = JSONText()
            text.object {
                $0.number("message-storage-policy", channel.policy)
                $0.string("push-type", "LiveActivity")
            }
            reaction.body = text.bytes
        case .delete:
            _ = channels.remove(channelID, bundle, connection.environment)
            reaction.status = 204
        case .create, .list, .send:
            let refusal = Self.judgeBroadcast(fields, channel, body, &warnings, now)
            if refusal != .none { return refusal }
            channels.noteBroadcast(channelID, bundle, connection.environment)
        }
        return .none
    }

    private mutating func create(
        _ bundle: ByteView, _ body: ByteView, _ reaction: inout Reaction, _ environment: APNsEnvironment
    ) -> Reason {
        if body.isEmpty { return .payloadEmpty }
        if body.count > PushType.alert.payloadLimit { return .payloadTooLarge }
        guard let tree = JSONTree.strict(body), tree.members != nil else { return .badRequestPayload }
        guard let type = tree["push-type"] else { return .missingPushType }
        guard type.string == "LiveActivity" else { return .invalidPushType }
        guard let policy = tree["message-storage-policy"] else { return .missingChannelQueueSize }
        guard let number = policy.integer, number == 0 || number == 1 else { return .badRequestParams }
        guard
            let id = channels.create(
                bundle, environment, policy: UInt8(number), limit: settings.channelLimit, random: &random)
        else { return .cannotCreateChannelConfig }
        reaction.status = 201
        reaction.channelID = id
        return .none
    }

    private static func judgeBroadcast(
        _ fields: RequestFields, _ channel: ChannelBook.Channel, _ body: ByteView,
        _ warnings: inout Warnings, _ now: WallTime
    ) -> Reason {
        guard let type = fields.pushType else { return .missingPushType }
        guard PushType(named: type) == .liveactivity else { return .invalidPushType }
        if let text = fields.priority, DeviceRequest.priority(text) == 0 { return .badPriority }
        guard let expiration = fields.expiration?.decimal() else { return .badExpirationDate }
        // A channel that stores no messages needs no expiration.
        if channel.policy == 0, expiration != 0 { return .badExpirationDate }
        if expiration > 0, expiration < now.seconds { warnings.insert(.expirationPassed) }
        if body.isEmpty { return .payloadEmpty }
        if body.count > 5120 { return .payloadTooLarge }
        guard let facts = JSONScanner.scan(body), facts.isObject else { return .badRequestPayload }
        warnings.formUnion(PayloadRules.warnings(for: .liveactivity, facts))
        // A broadcast cannot start an activity.
        if facts.event == .start { warnings.insert(.broadcastStart) }
        return .none
    }
}
