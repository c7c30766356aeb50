import PushWire
import Testing

@Suite struct DevicePathTests {
    @Test func `Devices are posted to version 3 of the API`() {
        #expect(DevicePath.prefix.description == "/3/device/")
    }
}
