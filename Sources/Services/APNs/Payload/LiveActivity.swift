package import PushWire

/// The `aps` content for a Live Activity. Times are seconds since 1970.
package struct LiveActivity: Sendable, Equatable {
    package enum Event: Sendable, Equatable {
        case start(Start)
        case update
        /// Without a dismissal date the activity stays on the lock screen for up to four hours; a date in the past
        /// removes it at once.
        case end(dismissalDate: Int64?)
    }

    /// The values from which an activity is created. A start also shows an alert.
    package struct Start: Sendable, Equatable {
        package var attributesType: String
        package var attributes: JSONValue
        package var input: Input?

        package init(attributesType: String, attributes: JSONValue, input: Input? = nil) {
            self.attributesType = attributesType
            self.attributes = attributes
            self.input = input
        }
    }

    /// How the activity receives updates: by its own token, or by a broadcast channel (iOS 18).
    package enum Input: Sendable, Equatable {
        case token
        case channel(ChannelID)
    }

    package var event: Event
    /// The time of the content. Devices ignore content older than what they show.
    package var timestamp: Int64
    package var contentState: JSONValue
    package var staleDate: Int64?

    package init(_ event: Event, timestamp: Int64, contentState: JSONValue, staleDate: Int64? = nil) {
        self.event = event
        self.timestamp = timestamp
        self.contentState = contentState
        self.staleDate = staleDate
    }

    func write(to writer: inout JSONWriter) {
        switch event {
        case .start: writer.member("event", value: "start")
        case .update: writer.member("event", value: "update")
        case .end: writer.member("event", value: "end")
        }
        writer.member("timestamp", value: timestamp)
        writer.member("content-state", value: contentState)
        writer.member("stale-date", value: staleDate)
        switch event {
        case .start(let start):
            writer.member("attributes-type", value: start.attributesType)
            writer.member("attributes", value: start.attributes)
            switch start.input {
            case .token: writer.member("input-push-token", value: Int64(1))
            case .channel(let channel): writer.member("input-push-channel", value: channel.text)
            case nil: break
            }
        case .update: break
        case .end(let dismissalDate): writer.member("dismissal-date", value: dismissalDate)
        }
    }
}
