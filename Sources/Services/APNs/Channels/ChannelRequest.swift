package import PushModel
import PushWire

/// What a channel stores for devices that are unreachable. The policy is fixed when the channel is created.
package struct ChannelPolicy: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The channel stores nothing, which allows a higher rate; the expiration of broadcasts must be 0.
    package static let notStored = ChannelPolicy(rawValue: 0)
    /// The channel stores the newest broadcast for up to eight hours.
    package static let newestStored = ChannelPolicy(rawValue: 1)
}

/// An update or end of a Live Activity for all subscribers of a channel.
package struct Broadcast: Sendable, Equatable {
    package var channel: ChannelID
    package var payload: [UInt8]
    /// Seconds since 1970. The field is required, and must be 0 on a channel that stores nothing.
    package var expiration: Int64
    package var priority: PushPriority

    package init(_ payload: [UInt8], to channel: ChannelID, expiration: Int64 = 0, priority: PushPriority = .ten) {
        self.channel = channel
        self.payload = payload
        self.expiration = expiration
        self.priority = priority
    }
}

/// A request about broadcast channels as it is sent (Documentation/Protocols.md, "A12. Broadcast channels"). The sender
/// adds the authorization.
package struct ChannelRequest: Sendable, Equatable {
    package enum Operation: Sendable, Equatable {
        case create(ChannelPolicy)
        case read(ChannelID)
        case delete(ChannelID)
        case list
        case send(Broadcast)
    }

    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package let app: BundleID
    package let operation: Operation
    /// The id that comes back with the response; the provider creates one if it is nil.
    package let requestID: DeliveryID?

    package init(_ operation: Operation, of app: BundleID, requestID: DeliveryID? = nil) {
        self.app = app
        self.operation = operation
        self.requestID = requestID
    }

    package var method: String {
        switch operation {
        case .create, .send: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    package var path: String {
        switch operation {
        case .create, .read, .delete: "/1/apps/\(app)/channels"
        case .list: "/1/apps/\(app)/all-channels"
        case .send: "/4/broadcasts/apps/\(app)"
        }
    }

    /// The header fields other than the pseudo-headers and the authorization.
    package var fields: [Field] {
        var fields: [Field] = []
        if let requestID { fields.append(Field(name: "apns-request-id", value: requestID.description)) }
        switch operation {
        case .create: fields.append(Field(name: "content-type", value: "application/json"))
        case .list: break
        case .read(let channel), .delete(let channel):
            fields.append(Field(name: "apns-channel-id", value: channel.text))
        case .send(let broadcast):
            fields += [
                Field(name: "content-type", value: "application/json"),
                Field(name: "apns-channel-id", value: broadcast.channel.text),
                Field(name: "apns-push-type", value: PushType.liveactivity.rawValue),
                Field(name: "apns-expiration", value: String(broadcast.expiration)),
                Field(name: "apns-priority", value: String(broadcast.priority.rawValue)),
            ]
        }
        return fields
    }

    package var body: [UInt8]? {
        switch operation {
        case .create(let policy):
            JSONValue.object([
                "message-storage-policy": .integer(Int64(policy.rawValue)), "push-type": .string(Self.pushType),
            ]).bytes
        case .read, .delete, .list: nil
        case .send(let broadcast): broadcast.payload
        }
    }

    /// The only push type for channels, in the spelling of this part of the API.
    static let pushType = "LiveActivity"
}
