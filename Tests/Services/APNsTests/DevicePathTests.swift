import PushWire
import Testing

@testable import APNs

@Suite struct DevicePathTests {
    @Test func `The path is that of version 3 of the API`() {
        #expect(DevicePath.prefix.description == "/3/device/")
    }
}
