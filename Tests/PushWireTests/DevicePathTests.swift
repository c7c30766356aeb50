import PushWire
import Testing

@Suite struct DevicePathTests {
    @Test func `The path is that of version 3 of the API`() {
        #expect(DevicePath.prefix.description == "/3/device/")
    }
}
