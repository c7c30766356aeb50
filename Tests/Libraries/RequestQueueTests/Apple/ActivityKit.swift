// The part of ActivityKit that DeviceRegistrar uses, with the declarations of Apple's SDK. AppleSourcesTests compiles the
// sources with it; nothing here does anything.

public import Foundation

public protocol ActivityAttributes: Decodable, Encodable {
    associatedtype ContentState: Decodable, Encodable, Hashable
}

public class Activity<Attributes: ActivityAttributes>: Identifiable {
    public struct PushTokenUpdates: AsyncSequence, Sendable {
        public struct Iterator: AsyncIteratorProtocol {
            public mutating func next() async -> Data? { nil }
        }

        public func makeAsyncIterator() -> Iterator { Iterator() }
    }

    public let id: String
    public let attributes: Attributes
    public var pushToken: Data? { nil }
    public var pushTokenUpdates: PushTokenUpdates { PushTokenUpdates() }
    public static var pushToStartToken: Data? { nil }
    public static var pushToStartTokenUpdates: PushTokenUpdates { PushTokenUpdates() }

    init(id: String, attributes: Attributes) {
        (self.id, self.attributes) = (id, attributes)
    }
}
