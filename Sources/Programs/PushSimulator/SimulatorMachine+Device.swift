import PushLoop

extension SimulatorMachine {
    /// Handles POST /3/device/TOKEN. The checks are in this order: request line and `apns-id`, authorization, other
    /// headers, topic, payload size, device, payload.
    @inline(__always)
    mutating func receiveDevice(
        _ request: ProviderRequest, token digits: ByteView, topic: ByteView?, on connection: inout ProviderConnection
    ) -> Reaction {
        let push = DeviceRequest(request.fields, token: digits)
        var judgment = Judgment(Reaction(id: push.id ?? MessageID.random(&random)))
        if push.id != nil { judgment.record.flags.insert(.hasOwnID) }
        if connection.environment == .sandbox { judgment.reaction.uniqueID = MessageID.random(&random) }
        judgment.token = push.token
        judgment.topic = topic
        judgment.label = request.fields.collapseID
        judgment.record.pushType = push.pushType
        judgment.record.priority = push.priority
        if push.expiration >= 0 {
            judgment.record.expiration = UInt32(clamping: push.expiration)
            judgment.record.flags.insert(.hasExpiration)
        }
        var known: KnownTopics.Topic?
        if let topic, !topic.isEmpty {
            let entry = topics.topic(topic)
            judgment.record.topic = entry.number
            known = entry
        }
        judgment.warnings = push.warnings(now: request.receivedAt.seconds)
        judgment.reaction.reason = judge(push, in: request, topic: known, judgment: &judgment, on: &connection)
        if connection.tokens.isDER { judgment.warnings.insert(.signatureAsDER) }
        finish(&judgment, of: request, on: &connection)
        return judgment.reaction
    }

    /// Returns why the notification is rejected, or `none`.
    @inline(__always)
    private mutating func judge(
        _ push: DeviceRequest, in request: ProviderRequest, topic known: KnownTopics.Topic?,
        judgment: inout Judgment, on connection: inout ProviderConnection
    ) -> Reason {
        if push.firstFault != .none { return push.firstFault }
        let authorization = authorize(request, on: &connection, reaction: &judgment.reaction)
        if authorization != .none { return authorization }
        if push.secondFault != .none { return push.secondFault }

        guard let known, let topic = judgment.topic else { return .missingTopic }
        let misfit = DeviceRequest.topicFault(known, for: push.pushType)
        if misfit != .none { return misfit }
        if known.number == KnownTopics.other || connection.permittedTopic != known.number {
            guard isPermitted(topic, baseLength: known.baseLength, on: connection) else { return .topicDisallowed }
            connection.permittedTopic = known.number
        }
        if connection.certificate != nil, push.pushType == .location || push.pushType == .liveactivity {
            // These two push types need a provider token.
            return .topicDisallowed
        }

        let body = request.body
        if body.isEmpty { return .payloadEmpty }
        let type = push.pushType == .unspecified ? known.suffix ?? .unspecified : push.pushType
        if body.count > type.payloadLimit { return .payloadTooLarge }

        if push.target == .malformed { return .badDeviceToken }
        if type == .liveactivity { phones.expire(at: request.receivedAt, in: &devices) }
        if let refusal = devices.refusal(
            of: push.token, topic: topic, baseLength: known.baseLength, suffix: known.suffix,
            environment: connection.environment)
        {
            if refusal.reason.status == 410 { judgment.reaction.timestamp = refusal.since.milliseconds }
            return refusal.reason
        }
        // Apple does not document its answer to a payload that is not a JSON object; this reason is the closest one.
        guard let facts = JSONScanner.scan(body), facts.isObject else { return .payloadEmpty }
        judgment.warnings.formUnion(PayloadRules.warnings(for: push.pushType, payload: facts))
        judgment.isForActivities = type == .liveactivity
        return .none
    }

    private func isPermitted(
        _ topic: ByteView, baseLength: Int, on connection: borrowing ProviderConnection
    ) -> Bool {
        if let certificate = connection.certificate { return certificate.allows(topic) }
        return keys.allows(topic, baseLength: baseLength, key: connection.tokens.key)
    }
}
