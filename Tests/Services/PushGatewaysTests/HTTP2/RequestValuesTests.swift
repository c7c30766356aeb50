import PushModel
import PushTime
import TestSupport
import Testing

@testable import APNs
@testable import PushGateways

@Suite struct RequestValuesTests {
    /// The registry of another version may have addresses that APNs would refuse. They must fit, too.
    @Test(arguments: [1, 32, 100, 2048]) func `The values of a request do not overlap`(length: Int) throws {
        let address = try #require(Address(bytes: [UInt8](repeating: 0xc3, count: length)))
        let message = Message(
            id: try #require(MessageID("m")), app: try #require(AppID("shop")), expiry: .at(UnixSeconds(Int64.max)),
            collapseID: CollapseID(String(repeating: "c", count: 64)), payload: [])
        let delivery = Delivery(ticket: 1, message: message, token: address, deliveryID: DeliveryID(high: 1, low: 2))
        let values = RequestValues()
        let texts = unsafe values.write(delivery).map { unsafe String(decoding: $0, as: UTF8.self) }
        #expect(
            texts == [
                "/3/device/" + String(repeating: "c3", count: length), "00000000-0000-0001-0000-000000000002",
                "9223372036854775807", String(repeating: "c", count: 64),
            ])
    }
}
