package import PushModel
import PushWire

/// The provider's description of one channel.
package struct ChannelDescription: Sendable, Equatable {
    package let policy: ChannelPolicy
    package let pushType: String

    package init(policy: ChannelPolicy, pushType: String) {
        self.policy = policy
        self.pushType = pushType
    }
}

/// A parsed response to a channel request.
package enum ChannelAnswer: Sendable, Equatable {
    case created(ChannelID)
    case described(ChannelDescription)
    case deleted
    case listed([ChannelID])
    case sent
}

/// Why a channel request did not give the expected response.
package enum ChannelAnswerError: Error, Sendable, Equatable {
    case refused(Refusal)
    /// The status is a success, but the response cannot be parsed.
    case unreadable(String)
}

extension ChannelRequest {
    /// Parses the response to this request. `channelID` is its field `apns-channel-id`.
    package func answer(
        status: Int, channelID: String? = nil, retryAfter: String? = nil, body: some Collection<UInt8>
    ) throws(ChannelAnswerError) -> ChannelAnswer {
        guard (200..<300).contains(status) else {
            throw .refused(Refusal(status: status, body: body, retryAfter: retryAfter))
        }
        switch operation {
        case .create:
            guard let id = channelID.flatMap({ ChannelID($0) }) else {
                throw .unreadable("the channel was created, but the response has no valid apns-channel-id")
            }
            return .created(id)
        case .read: return .described(try Self.description(in: body))
        case .delete: return .deleted
        case .list: return .listed(try Self.list(in: body))
        case .send: return .sent
        }
    }

    private static func description(
        in body: some Collection<UInt8>
    ) throws(ChannelAnswerError) -> ChannelDescription {
        let document = try document(body)
        guard
            let policy = document.value("message-storage-policy", in: document.root).flatMap({ document.integer($0) }),
            let type = document.value("push-type", in: document.root).flatMap({ document.string($0) }),
            let number = Int(exactly: policy)
        else { throw .unreadable("the channel's description lacks message-storage-policy or push-type") }
        return ChannelDescription(policy: ChannelPolicy(rawValue: number), pushType: type)
    }

    private static func list(in body: some Collection<UInt8>) throws(ChannelAnswerError) -> [ChannelID] {
        let document = try document(body)
        guard let channels = document.value("channels", in: document.root), document.kind(channels) == .array else {
            throw .unreadable("the list of channels has no array \"channels\"")
        }
        var ids: [ChannelID] = []
        for element in document.elements(channels) {
            // To skip an invalid entry would suggest that its channel does not exist.
            guard let id = document.string(element).flatMap({ ChannelID($0) }) else {
                throw .unreadable("entry \(ids.count + 1) of the list of channels is not a channel id")
            }
            ids.append(id)
        }
        return ids
    }

    private static func document(_ body: some Collection<UInt8>) throws(ChannelAnswerError) -> JSONDocument {
        do {
            return try JSONDocument(Array(body))
        } catch {
            throw .unreadable("the response is not JSON: \(error)")
        }
    }
}
