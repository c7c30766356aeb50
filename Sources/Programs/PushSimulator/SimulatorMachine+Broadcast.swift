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
        _ request: ProviderRequest, on connection: inout ProviderConnection
    ) -> Reaction {
        let fields = request.fields
        let path = fields.path
        if let path, connection.services != .management, path.equals("/3/device") {
            return receiveDevice(request, token: path.prefix(0), topic: fields.topic, on: &connection)
        }
        let isBroadcast = path.map { $0.hasPrefix(Self.sendPath) || $0.hasPrefix(Self.managePath) } ?? false
        let id = isBroadcast ? fields.requestID : fields.messageID
        let ownID = id.flatMap { MessageID($0) }
        var judgment = Judgment(Reaction(id: ownID ?? MessageID.random(&random)))
        if ownID != nil { judgment.record.flags.insert(.hasOwnID) }
        judgment.reaction.isRequestID = isBroadcast
        judgment.record.service = path?.hasPrefix(Self.sendPath) == true ? .broadcast : .channels
        judgment.record.priority = fields.priority.map { DeviceRequest.priority($0) } ?? 0
        if let seconds = fields.expiration?.decimal() {
            judgment.record.expiration = UInt32(clamping: seconds)
            judgment.record.flags.insert(.hasExpiration)
        }
        if fields.pushType.flatMap({ PushType(named: $0) }) == .liveactivity {
            judgment.record.pushType = .liveactivity
        }
        let bundle = path.flatMap { Self.bundle(in: $0) }
        if let bundle, !bundle.isEmpty { judgment.record.topic = topics.topic(bundle).number }
        judgment.topic = bundle
        judgment.label = fields.channelID

        judgment.reaction.reason = judge(request, id: id, judgment: &judgment, on: &connection)
        if judgment.reaction.reason != .none {
            judgment.reaction.body = []
            judgment.reaction.channelID = []
        }
        finish(&judgment, of: request, on: &connection)
        return judgment.reaction
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
        path: ByteView, bundle: ByteView, method: ByteView?, services: ProviderConnection.Services
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

    /// Returns why the request is rejected, or `none` after the operation was carried out.
    private mutating func judge(
        _ request: ProviderRequest, id: ByteView?, judgment: inout Judgment, on connection: inout ProviderConnection
    ) -> Reason {
        let fields = request.fields
        guard let path = fields.path, let bundle = judgment.topic else { return .badPath }
        let operation: Operation
        switch Self.operation(path: path, bundle: bundle, method: fields.method, services: connection.services) {
        case .success(let known): operation = known
        case .failure(.path): return .badPath
        case .failure(.method): return .methodNotAllowed
        }
        if fields.hasRepeated { return .badRequestParams }
        if let id, MessageID(id) == nil { return .badMessageID }
        let authorization = authorize(request, on: &connection, reaction: &judgment.reaction)
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
        let app = BroadcastChannels.App(bundle, in: connection.environment)
        switch operation {
        case .create: return createChannel(of: app, from: request.body, reaction: &judgment.reaction)
        case .list:
            var text = JSONText()
            let ids = channels.ids(of: app)
            text.object { $0.array("channels") { list in for id in ids { list.element(bytes: id) } } }
            judgment.reaction.body = text.bytes
            return .none
        case .read, .delete, .send: return carryOut(operation, request, of: app, judgment: &judgment)
        }
    }

    /// Carries out an operation on a channel.
    private mutating func carryOut(
        _ operation: Operation, _ request: ProviderRequest, of app: BroadcastChannels.App, judgment: inout Judgment
    ) -> Reason {
        guard let channelID = request.fields.channelID, !channelID.isEmpty else { return .missingChannelID }
        guard Base64.decode(channelID) != nil else { return .badChannelID }
        guard let channel = channels.channel(channelID, of: app) else {
            return .channelNotRegistered
        }
        switch operation {
        case .read:
            var text = JSONText()
            text.object {
                $0.member("message-storage-policy", number: channel.policy)
                $0.member("push-type", string: "LiveActivity")
            }
            judgment.reaction.body = text.bytes
        case .delete:
            _ = channels.remove(channelID, of: app)
            judgment.reaction.status = 204
        case .create, .list, .send:
            let refusal = Self.judgeBroadcast(request, on: channel, warnings: &judgment.warnings)
            if refusal != .none { return refusal }
            channels.noteBroadcast(on: channelID, of: app)
            judgment.isForActivities = true
        }
        return .none
    }

    private mutating func createChannel(
        of app: BroadcastChannels.App, from body: ByteView, reaction: inout Reaction
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
                for: app, policy: UInt8(number), limit: settings.channelLimit, random: &random)
        else { return .cannotCreateChannelConfig }
        reaction.status = 201
        reaction.channelID = id
        return .none
    }

    private static func judgeBroadcast(
        _ request: ProviderRequest, on channel: BroadcastChannels.Channel, warnings: inout Warnings
    ) -> Reason {
        let fields = request.fields
        let body = request.body
        guard let type = fields.pushType else { return .missingPushType }
        guard PushType(named: type) == .liveactivity else { return .invalidPushType }
        if let text = fields.priority, DeviceRequest.priority(text) == 0 { return .badPriority }
        guard let expiration = fields.expiration?.decimal() else { return .badExpirationDate }
        // A channel that stores no messages needs no expiration.
        if channel.policy == 0, expiration != 0 { return .badExpirationDate }
        if expiration > 0, expiration < request.receivedAt.seconds { warnings.insert(.expirationPassed) }
        if body.isEmpty { return .payloadEmpty }
        if body.count > 5120 { return .payloadTooLarge }
        guard let facts = JSONScanner.scan(body), facts.isObject else { return .badRequestPayload }
        warnings.formUnion(PayloadRules.warnings(for: .liveactivity, payload: facts))
        // A broadcast cannot start an activity.
        if facts.event == .start { warnings.insert(.broadcastStart) }
        return .none
    }
}
