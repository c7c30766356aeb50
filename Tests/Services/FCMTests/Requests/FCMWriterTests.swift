import PushGateways
import PushLoop
import PushModel
import PushTime
import PushTransport
import TestSupport
import Testing

@testable import FCM

@Suite struct FCMWriterTests {
    private let clock = Locked(WallTime(seconds: 1000))
    private let app = AppID("shop")!

    private func message(_ id: String, locales: [String], expiresAt: Int64? = nil) throws -> Message {
        let forms = locales.map { name in
            Wording.Form(locale: LocaleTag(name), payload: Array(#"{"android":{"ttl":""},"a":"\#(name)"}"#.utf8))
        }
        return Message(
            id: try #require(MessageID(id)), app: app, expiry: Expiry(expiresAt: expiresAt), payload: forms[0].payload,
            wording: Wording(forms))
    }

    private func body(_ writer: FCMWriter, _ message: Message, _ variant: UInt32, to address: String) throws -> String {
        let token = try FCMCodec().address(address)
        let delivery = Delivery(
            ticket: 1, message: message.form(variant), token: token,
            deliveryID: .derived(app: app, message: message.id, token: token))
        return String(decoding: writer.request(for: delivery).body, as: UTF8.self)
    }

    @Test func `The forms of a message are prepared once, and again for another second or message`() throws {
        let writer = FCMWriter(
            authority: "fcm.example", project: try #require(ProjectID("shop-1")), token: nil,
            wallClock: { [clock] in clock.withLock { $0 } })
        let message = try message("one", locales: ["en", "de", "fr"], expiresAt: 1060)
        let names = ["en", "de", "fr"]
        for (number, variant) in [0, 1, 2, 1, 0, 2, 2, 0].enumerated() {
            #expect(
                try body(writer, message, UInt32(variant), to: "t-\(number)")
                    == #"{"message":{"android":{"ttl":"60s"},"a":"\#(names[variant])","token":"t-\#(number)"}}"#)
        }
        #expect(writer.bodies.count == 3 && writer.bodies.allSatisfy { $0.second == 1000 })
        clock.withLock { $0 = WallTime(seconds: 1001) }
        #expect(try body(writer, message, 1, to: "t").contains(#""ttl":"59s"},"a":"de""#))
        #expect(writer.bodies.map(\.second) == [1000, 1001, 1000])
        let other = try self.message("two", locales: ["en", "de"])
        #expect(try body(writer, other, 1, to: "t").contains(#""a":"de""#))
        #expect(writer.bodies.count == 1)
        let plain = Message(id: message.id, app: app, payload: Array("{}".utf8))
        #expect(try body(writer, plain, 0, to: "t") == #"{"message":{"token":"t"}}"#)
        #expect(writer.bodies.count == 1)
    }

    @Test func `A body that is still to be sent does not change with the next one`() throws {
        let writer = FCMWriter(
            authority: "fcm.example", project: try #require(ProjectID("shop-1")), token: nil,
            wallClock: WallTime.current)
        let message = Message(id: try #require(MessageID("one")), app: app, payload: Array("{}".utf8))
        let names = (1...3).map { String(repeating: "\($0)", count: 200 * $0) }
        let bodies = try names.map { name in
            let token = try FCMCodec().address(name)
            let id = DeliveryID.derived(app: app, message: message.id, token: token)
            return writer.request(for: Delivery(ticket: 1, message: message, token: token, deliveryID: id)).body
        }
        for (name, body) in zip(names, bodies) {
            #expect(String(decoding: body, as: UTF8.self) == #"{"message":{"token":"\#(name)"}}"#)
        }
    }
}
