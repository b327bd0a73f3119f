// Vat_rate is a Lambda function of somebody else's, in a CommonJS module.
const RATES = { DE: 19, NL: 21, PT: 23 };

exports.handler = async (event) => ({
  country: event.country,
  percent: RATES[event.country] + Number(process.env.SURCHARGE),
});
