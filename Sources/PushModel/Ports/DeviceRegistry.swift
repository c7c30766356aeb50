/// The durable record of devices, as the pipeline sees it.
package protocol DeviceRegistry: AnyObject, Sendable {
    /// The active devices of a dynamic audience, or of named device ids, page by page. `after`: the cursor of the page
    /// before. Each device comes once at most. Throws `AudienceFault` if that audience can never be answered; whatever
    /// else it throws may have passed by the next time.
    func page(of audience: Audience, app: AppID, after: AudienceCursor?, limit: Int) async throws -> AudiencePage

    /// When devices were last registered or seen, in milliseconds since 1970; nil for those that it was never told of.
    func lastSeen(_ devices: [DeviceID]) async throws -> [Int64?]

    /// It is about to be published that these are gone: from now on they are among the inactive, and whether they stay there
    /// is decided when the event is applied. Returns those that were not among them before.
    @discardableResult
    func hold(_ devices: [DeviceID]) -> [DeviceID]

    /// It was not published after all: takes what `hold` returned.
    func release(_ devices: [DeviceID]) async

    /// Devices that are not to be sent to. Shared, and cheap to ask.
    var inactive: any InactiveDevices { get }
}

extension DeviceRegistry {
    package func hold(_ devices: [DeviceID]) -> [DeviceID] { [] }
    package func release(_ devices: [DeviceID]) async {}
}

/// Which devices are known to be gone. Any thread may ask.
package protocol InactiveDevices: AnyObject, Sendable {
    var isEmpty: Bool { get }
    func contains(_ device: DeviceID) -> Bool
}

/// Where a page ended, for the registry to know.
package struct AudienceCursor: Sendable, Equatable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}

/// A page was asked for by what was never the end of one: whoever asked is mistaken.
package struct BadCursor: Error, Sendable, Equatable, CustomStringConvertible {
    package init() {}

    package var description: String { "that is not where a page of these devices ended: begin again without it" }
}

/// No registry of this kind can say who is in the audience, now or later.
package struct AudienceFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with it.
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

package struct AudiencePage: Sendable {
    package struct Device: Sendable {
        package let id: DeviceID
        package let token: DeviceToken

        package init(id: DeviceID, token: DeviceToken) {
            self.id = id
            self.token = token
        }
    }

    package let devices: [Device]
    /// Of named device ids: those that are inactive or unknown, which are suppressed.
    package let inactive: [DeviceID]
    package let unknown: [DeviceID]
    /// Nil when this was the last.
    package let next: AudienceCursor?

    package init(
        devices: [Device], inactive: [DeviceID] = [], unknown: [DeviceID] = [], next: AudienceCursor?
    ) {
        self.devices = devices
        self.inactive = inactive
        self.unknown = unknown
        self.next = next
    }
}
