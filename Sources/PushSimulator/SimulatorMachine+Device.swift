import PushLoop

extension SimulatorMachine {
    /// Handles POST /3/device/TOKEN. The checks are in this order: request line and `apns-id`, authorization, other
    /// headers, topic, payload size, device, payload.
    @inline(__always)
    mutating func receiveDevice(
        _ fields: RequestFields, _ digits: ByteView, topic: ByteView?, _ body: ByteView, _ stream: Int32,
        _ connection: inout ProviderConnection, _ now: WallTime
    ) -> Reaction {
        let request = DeviceRequest(fields, token: digits)
        var record = Record()
        var reaction: Reaction
        if let id = request.id {
            reaction = Reaction(id: id)
            record.flags.insert(.hasOwnID)
        } else {
            reaction = Reaction(id: MessageID.random(&random))
        }
        if connection.environment == .sandbox { reaction.uniqueID = MessageID.random(&random) }
        record.pushType = request.pushType
        record.priority = request.priority
        if request.expiration >= 0 {
            record.expiration = UInt32(clamping: request.expiration)
            record.flags.insert(.hasExpiration)
        }
        var found: TopicBook.Topic?
        if let topic, !topic.isEmpty {
            let known = topics.topic(topic)
            record.topic = known.number
            found = known
        }
        var warnings = request.warnings(now: now.seconds)
        reaction.reason = judge(
            request, fields, found, topic, body, &warnings, &reaction, &connection, now)
        if connection.tokens.isDER { warnings.insert(.signatureAsDER) }
        record.warnings = warnings.rawValue
        finish(
            &reaction, &record, request.token, topic: topic, label: fields.collapseID, body, stream, &connection, now)
        return reaction
    }

    @inline(__always)
    private mutating func judge(
        _ request: DeviceRequest, _ fields: RequestFields, _ found: TopicBook.Topic?,
        _ topic: ByteView?, _ body: ByteView, _ warnings: inout Warnings, _ reaction: inout Reaction,
        _ connection: inout ProviderConnection, _ now: WallTime
    ) -> Reason {
        if request.firstFault != .none { return request.firstFault }
        let authorization = authorize(fields, &connection, &reaction, now)
        if authorization != .none { return authorization }
        if request.secondFault != .none { return request.secondFault }

        guard let found, let topic else { return .missingTopic }
        let misfit = DeviceRequest.topicFault(found, for: request.pushType)
        if misfit != .none { return misfit }
        if found.number == TopicBook.other || connection.permittedTopic != found.number {
            let refusal = permission(found, topic, request.pushType, connection)
            if refusal != .none { return refusal }
            connection.permittedTopic = found.number
        }
        if connection.certificate != nil, request.pushType == .location || request.pushType == .liveactivity {
            // These two push types need a provider token.
            return .topicDisallowed
        }

        if body.isEmpty { return .payloadEmpty }
        let type = request.pushType == .unspecified ? found.suffix ?? .unspecified : request.pushType
        if body.count > type.payloadLimit { return .payloadTooLarge }

        if request.target == .malformed { return .badDeviceToken }
        if let refusal = devices.refusal(
            of: request.token, topic: topic, baseLength: found.baseLength, environment: connection.environment)
        {
            if refusal.reason.status == 410 { reaction.timestamp = refusal.since.milliseconds }
            return refusal.reason
        }
        // Apple does not document its answer to a payload that is not a JSON object; this reason is the closest one.
        guard let facts = JSONScanner.scan(body), facts.isObject else { return .payloadEmpty }
        warnings.formUnion(PayloadRules.warnings(for: request.pushType, facts))
        return .none
    }

    private func permission(
        _ found: TopicBook.Topic, _ topic: ByteView, _ type: PushType, _ connection: borrowing ProviderConnection
    ) -> Reason {
        if let certificate = connection.certificate {
            return certificate.allows(topic) ? .none : .topicDisallowed
        }
        return keys.allows(topic, baseLength: found.baseLength, key: connection.tokens.key) ? .none : .topicDisallowed
    }
}
